package imports

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The format is GOAL, as text, in the grammar of LogGOPSim
// (github.com/spcl/LogGOPSim, src/LogGOPSim/txt2bin.re).

// goal is what a trace says.
type goal struct {
	faults
	file  string
	ranks []goalRank
	in    int // rank whose statements are read, -1 outside
	line  int

	cpus, nics, empty, large int // messages whose cpu or nic has no effect, of 0 bytes, and above goalEager
	load                         // of all ranks
}

// goalRank are the steps of a rank, and the indices of those with a label.
type goalRank struct {
	begun  bool
	steps  []step
	labels map[string]int

	busy     map[int64]bool // processors that calculate for a time
	messages map[int64]int  // by processor
}

// GOAL returns the scenario of a trace: rank n is the program of h<n>. rack is the text of a scenario with
// these NICs and without programs; if it is nil, layout is the rack. The error has a line per fault.
func GOAL(trace File, rack *File, layout Layout) (*Imported, error) {
	g := &goal{file: trace.Name, in: -1}
	g.read(trace.Data)
	if g.in >= 0 {
		g.fault(g.file, g.line, "the file ends before the } of rank %d", g.in)
	}
	if g.ranks == nil && len(g.list) == 0 {
		g.fault(g.file, max(g.line, 1), "no num_ranks")
	}
	if err := g.err(); err != nil {
		return nil, err
	}
	var text []byte
	if rack == nil {
		text = layout.scenario("goal-import", g.file+", a trace in GOAL", len(g.ranks), &g.load)
		if err := layout.holds(len(g.ranks), fmt.Sprintf("%s has %d ranks", g.file, len(g.ranks))); err != nil {
			return nil, err
		}
	} else {
		s, err := rack.withHosts(len(g.ranks), func(i int) string { return fmt.Sprintf("runs rank %d of %s", i, g.file) })
		if err != nil {
			return nil, err
		}
		if err := rack.withoutSteps(s); err != nil {
			return nil, err
		}
		text = rack.text()
	}
	hosts := make([][]step, len(g.ranks))
	for i := range hosts {
		r := &g.ranks[i]
		hosts[i] = r.steps
		for cpu, n := range r.messages {
			if cpu > 0 || r.busy[cpu] {
				g.cpus += n
			}
		}
	}
	text = appendPrograms(text, hosts)
	out, err := layout.finishedIn(rack, text, g.notes())
	return out, blamed(err, text, hosts, func(_ int, s *step) string { return fmt.Sprintf("%s:%d", g.file, s.line) })
}

// read reads all statements, without comments.
func (g *goal) read(data []byte) {
	if bytes.IndexByte(data, 0) >= 0 {
		g.fault(g.file, 1, "a binary trace, want its text, from which txt2bin made it")
		return
	}
	inside := false // a comment /* */
	for text := range bytes.Lines(data) {
		g.line++
		var code string
		if code, inside = withoutComments(string(text), inside); strings.TrimSpace(code) != "" {
			g.statement(goalWords(code))
		}
	}
	if inside {
		g.fault(g.file, g.line, "the file ends within a comment")
	}
}

// goalColon is the colon of a label, with which the label is one word, and goalBraces makes braces words.
var (
	goalColon  = regexp.MustCompile(`[ \t]*:`)
	goalBraces = strings.NewReplacer("{", " { ", "}", " } ")
)

// goalWords returns the words of a line. A size is one word with its b.
func goalWords(code string) []string {
	if strings.Contains(code, ":") {
		code = goalColon.ReplaceAllString(code, ": ")
	}
	if strings.ContainsAny(code, "{}") {
		code = goalBraces.Replace(code)
	}
	words := strings.Fields(code)
	for i := 1; i+2 < len(words); i++ {
		if words[i+1] == "b" && (words[i-1] == "send" || words[i-1] == "recv") {
			words[i] += "b"
			return slices.Delete(words, i+1, i+2)
		}
	}
	return words
}

// withoutComments removes comments from a line. inside reports whether a comment /* */ is open before the
// line, and after it.
func withoutComments(line string, inside bool) (code string, open bool) {
	for {
		if inside {
			_, rest, closed := strings.Cut(line, "*/")
			if !closed {
				return code, true
			}
			line, inside = rest, false
		}
		at := strings.Index(line, "/")
		switch {
		case at < 0 || at+1 == len(line):
			return code + line, false
		case line[at+1] == '/':
			return code + line[:at], false
		case line[at+1] == '*':
			code, line, inside = code+line[:at]+" ", line[at+2:], true
		default:
			code, line = code+line[:at+1], line[at+1:]
		}
	}
}

// statement reads the words of a line.
func (g *goal) statement(words []string) {
	for len(words) > 0 && words[0] == "}" {
		g.end()
		words = words[1:]
	}
	switch {
	case len(words) == 0:
	case words[0] == "num_ranks":
		g.size(words[1:])
	case words[0] == "rank":
		g.begin(words[1:])
	case g.in < 0:
		g.fault(g.file, g.line, "%q outside a rank, want num_ranks N or rank R {", words[0])
	case words[len(words)-1] == "}":
		g.step(words[:len(words)-1])
		g.end()
	default:
		g.step(words)
	}
}

// size reads the number of ranks.
func (g *goal) size(words []string) {
	if len(words) != 1 || g.ranks != nil {
		g.fault(g.file, g.line, "want num_ranks N, once")
		return
	}
	n, ok := g.number("number of ranks", words[0], 1, topology.MaxNodes-1)
	if !ok {
		n = 1
	}
	g.ranks = make([]goalRank, n)
}

// begin reads the beginning of a rank.
func (g *goal) begin(words []string) {
	if g.ranks == nil || g.in >= 0 || len(words) < 2 || words[1] != "{" {
		g.fault(g.file, g.line, "want rank R {, after num_ranks and outside another rank")
		g.ranks, g.in = append(g.ranks, goalRank{}), max(g.in, 0)
		return
	}
	n, ok := g.number("rank", words[0], 0, int64(len(g.ranks)-1))
	if ok && g.ranks[n].begun {
		g.fault(g.file, g.line, "rank %d has begun before", n)
	}
	g.in = int(n)
	g.ranks[n].begun = true
	if len(words) > 2 {
		g.statement(words[2:])
	}
}

// end ends a rank.
func (g *goal) end() {
	if g.in < 0 {
		g.fault(g.file, g.line, "} outside a rank")
	}
	g.in = -1
}

// notes returns what the scenario does not say.
func (g *goal) notes() (notes []string) {
	for _, n := range []struct {
		count int
		what  string
	}{
		{g.cpus, "cpu of send and recv, which take no time of a processor and do not wait for its calculations"},
		{g.nics, "nic, a host has one"},
		{g.empty, "size 0 of send, the message has 1 byte"},
	} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf("%s: ignored in %d statements: %s", g.file, n.count, n.what))
		}
	}
	if g.large > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s of more than %d bytes sent at once, as smaller ones: LogGOPSim waits for the recv", g.file, unit.Counted(g.large, "message"), goalEager))
	}
	return notes
}
