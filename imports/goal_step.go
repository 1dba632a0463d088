package imports

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// goalLabel is a label that a program accepts. GOAL has no limit of its length, and no reserved words.
var goalLabel = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,62}$`)

// Largest numbers of a trace: a tag and a processor of a program, and a message, in bytes.
const (
	goalTags       = 1<<31 - 1
	goalProcessors = 1<<12 - 1
	goalMessage    = 1 << 31
)

// goalEager is the largest message in bytes that LogGOPSim sends without waiting for its recv, unless its parameter S is
// set.
const goalEager = 65535

const goalForms = "want send SIZEb to RANK, recv SIZEb from RANK|-1, calc TIME, or LABEL requires|irequires LABEL"

// step reads a statement of a rank.
func (g *goal) step(words []string) {
	r := &g.ranks[g.in]
	if len(words) == 3 && (words[1] == "requires" || words[1] == "irequires") {
		g.wait(r, words)
		return
	}
	s := step{line: g.line}
	if label, ok := strings.CutSuffix(words[0], ":"); ok {
		s.label, words = label, words[1:]
		g.name(r, label)
	}
	switch {
	case len(words) >= 4 && words[0] == "send" && words[2] == "to":
		s.text = g.send(words)
	case len(words) >= 4 && words[0] == "recv" && words[2] == "from":
		s.text = g.receive(words)
	case len(words) >= 2 && words[0] == "calc":
		s.text = g.compute(words)
	default:
		g.fault(g.file, g.line, "invalid statement %q, %s", strings.Join(words, " "), goalForms)
	}
	g.steps++
	r.steps = append(r.steps, s)
}

// name records the label of the next step.
func (g *goal) name(r *goalRank, label string) {
	if r.labels == nil {
		r.labels = map[string]int{}
	}
	if _, taken := r.labels[label]; taken {
		g.fault(g.file, g.line, "label %s is that of an earlier step of rank %d", label, g.in)
	}
	if !goalLabel.MatchString(label) || label == "after" || label == "once_started" {
		g.fault(g.file, g.line, "label %q, want a letter, then at most 62 letters, digits and _; after and once_started are reserved", label)
	}
	r.labels[label] = len(r.steps)
}

// wait reads a dependence: A requires B.
func (g *goal) wait(r *goalRank, words []string) {
	i, ok := r.labels[words[0]]
	_, known := r.labels[words[2]]
	if !ok {
		g.fault(g.file, g.line, "rank %d has no step %s before this line", g.in, words[0])
	}
	if !known {
		g.fault(g.file, g.line, "rank %d has no step %s before this line", g.in, words[2])
	}
	switch {
	case !ok || !known:
	case words[1] == "requires":
		r.steps[i].after = append(r.steps[i].after, words[2])
	default:
		r.steps[i].started = append(r.steps[i].started, words[2])
	}
}

// send reads "send SIZEb to RANK [tag T] [cpu C] [nic N]".
func (g *goal) send(words []string) string {
	size := g.message(words[1])
	if size == 0 {
		g.empty++
		size = 1
	}
	if size > goalEager {
		g.large++
	}
	g.bytes += float64(size)
	peer := g.peer(words[3])
	return fmt.Sprintf("send %dB to %s%s", int64(size), peer, g.options(words[4:], false))
}

// receive reads "recv SIZEb from RANK|-1 [tag T|-1] [cpu C] [nic N]". The size is that of the message.
func (g *goal) receive(words []string) string {
	g.message(words[1])
	peer := "any"
	if words[3] != "-1" {
		peer = g.peer(words[3])
	}
	return fmt.Sprintf("receive from %s%s", peer, g.options(words[4:], true))
}

// compute reads "calc TIME [cpu C]"; TIME is in ns.
func (g *goal) compute(words []string) string {
	ns, _ := g.number("time in ns", words[1], 0, 1e12)
	g.calc += float64(ns) / 1e9
	text := fmt.Sprintf("calc %dns", ns)
	cpu := int64(0)
	switch {
	case len(words) == 4 && words[2] == "cpu":
		if cpu, _ = g.number("cpu", words[3], 0, goalProcessors); cpu > 0 {
			text += fmt.Sprintf(" on %d", cpu)
		}
	case len(words) != 2:
		g.fault(g.file, g.line, "%q after calc, want cpu C", strings.Join(words[2:], " "))
	}
	if r := &g.ranks[g.in]; ns > 0 {
		if r.busy == nil {
			r.busy = map[int64]bool{}
		}
		r.busy[cpu] = true
	}
	return text
}

// options reads the tag, cpu and nic of a message, and returns the tag as a step has it.
func (g *goal) options(words []string, wild bool) (tag string) {
	cpu := int64(0)
	for ; len(words) >= 2; words = words[2:] {
		switch words[0] {
		case "tag":
			if wild && words[1] == "-1" {
				tag = " tag any"
			} else if n, _ := g.number("tag", words[1], 0, goalTags); n > 0 {
				tag = fmt.Sprintf(" tag %d", n)
			}
		case "cpu":
			cpu, _ = g.number("cpu", words[1], 0, goalProcessors)
		case "nic":
			if n, _ := g.number("nic", words[1], 0, goalProcessors); n > 0 {
				g.nics++
			}
		default:
			g.fault(g.file, g.line, "%q, want tag, cpu or nic", words[0])
		}
	}
	if len(words) > 0 {
		g.fault(g.file, g.line, "%q without a number", words[0])
	}
	r := &g.ranks[g.in]
	if r.messages == nil {
		r.messages = map[int64]int{}
	}
	r.messages[cpu]++
	return tag
}

// message reads a size, "1024b".
func (g *goal) message(text string) unit.Bytes {
	digits, ok := strings.CutSuffix(text, "b")
	if !ok {
		g.fault(g.file, g.line, "size %q, want bytes, like 1024b", text)
		return 1
	}
	n, _ := g.number("size", digits, 0, goalMessage)
	return unit.Bytes(n)
}

// peer returns the host of another rank.
func (g *goal) peer(text string) string {
	n, ok := g.number("rank", text, 0, int64(len(g.ranks)-1))
	if ok && int(n) == g.in {
		g.fault(g.file, g.line, "rank %d exchanges a message with itself", n)
	}
	return fmt.Sprintf("h%d", n)
}

// number reads an integer in a range. Otherwise it adds a fault and returns the least one.
func (g *goal) number(what, text string, lo, hi int64) (n int64, ok bool) {
	return g.integer(g.file, g.line, what, text, lo, hi)
}
