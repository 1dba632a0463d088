package scenariofile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// stepReader reads the steps of one program.
type stepReader struct {
	b      *builder
	host   *topology.HostSteps
	steps  []program.Step
	after  [][]program.Condition
	places []place
	labels map[string]int
	later  []pending
}

// pending is a condition on a step that has not come yet, on a collective, or on a flow.
type pending struct {
	step  int
	label string
	begun bool
}

// grammar is what a line may be.
const grammar = "want [label:] send SIZE to NIC [tag N], receive from NIC|any [tag N|any], or calc TIME [on PROCESSOR], then [after NAMES] [once_started NAMES], of steps, collectives, flows or bursts"

// line reads a line: a step, a comment, or nothing.
func (r *stepReader) line(text string, at place) {
	if text == "" || text[0] == '#' {
		return
	}
	words := strings.Fields(text)
	label := ""
	if name, ok := strings.CutSuffix(words[0], ":"); ok {
		label, words = name, words[1:]
	}
	var s program.Step
	rest, err := r.action(words, &s)
	i := len(r.steps)
	r.steps, r.after, r.places = append(r.steps, s), append(r.after, nil), append(r.places, at)
	r.host.Labels = append(r.host.Labels, label)
	if err == nil {
		err = r.conditions(i, rest)
	}
	r.b.accept(err, at)
	if label != "" {
		r.b.accept(r.name(label, i), at)
	}
}

// name records the label of a step.
func (r *stepReader) name(label string, i int) error {
	if first, taken := r.labels[label]; taken {
		return fmt.Errorf("label %s is already that of line %d", label, r.places[first].line)
	}
	if !topology.ValidName(label) {
		return fmt.Errorf("label %s must match %s", label, topology.NamePattern)
	}
	r.labels[label] = i
	return nil
}

// resolve adds the conditions on steps that came later. It returns those on other names.
func (r *stepReader) resolve() (others []pending) {
	for _, w := range r.later {
		if to, ok := r.labels[w.label]; ok {
			r.wait(w.step, to, w.begun)
		} else {
			others = append(others, w)
		}
	}
	return others
}

// action reads what a step does, and returns the words after it.
func (r *stepReader) action(words []string, s *program.Step) (rest []string, err error) {
	switch {
	case len(words) >= 4 && words[0] == "send" && words[2] == "to":
		return r.send(words, s)
	case len(words) >= 3 && words[0] == "receive" && words[1] == "from":
		return r.receive(words, s)
	case len(words) >= 2 && words[0] == "calc":
		return r.calc(words, s)
	}
	return nil, fmt.Errorf("invalid step %q, %s", strings.Join(words, " "), grammar)
}

func (r *stepReader) send(words []string, s *program.Step) ([]string, error) {
	s.Kind = program.Send
	size, err := unit.ParseBytes(words[1])
	if err != nil || size < 1 || size > program.MaxMessage {
		return nil, fmt.Errorf("size %s, want 1B to %s", words[1], program.MaxMessage)
	}
	s.Amount = int64(size)
	if s.Peer, err = r.peer(words[3]); err != nil {
		return nil, err
	}
	return r.tag(words[4:], s)
}

func (r *stepReader) receive(words []string, s *program.Step) (rest []string, err error) {
	s.Kind, s.Peer = program.Receive, program.AnyHost
	if words[2] != "any" {
		if s.Peer, err = r.peer(words[2]); err != nil {
			return nil, err
		}
	}
	if rest = words[3:]; len(rest) >= 2 && rest[0] == "tag" && rest[1] == "any" {
		s.AnyTag = true
		return rest[2:], nil
	}
	return r.tag(rest, s)
}

func (r *stepReader) calc(words []string, s *program.Step) ([]string, error) {
	s.Kind, s.Peer = program.Calc, program.AnyHost
	time, err := unit.ParseTime(words[1])
	if err != nil || time < 0 || time > longest {
		return nil, fmt.Errorf("time %s, want 0 to %s", words[1], longest)
	}
	s.Amount = int64(time)
	words = words[2:]
	if len(words) >= 2 && words[0] == "on" {
		n, err := strconv.ParseUint(words[1], 10, 16)
		if err != nil || n >= program.MaxProcessors {
			return nil, fmt.Errorf("processor %s, want 0 to %d", words[1], program.MaxProcessors-1)
		}
		s.Processor, words = uint16(n), words[2:]
	}
	return words, nil
}

// peer returns the other host of a message.
func (r *stepReader) peer(name string) (int32, error) {
	i, ok := r.b.index[name]
	switch {
	case !ok:
		return 0, fmt.Errorf("unknown NIC %s", name)
	case r.b.s.Nodes[i].Kind != topology.NIC:
		return 0, fmt.Errorf("%s is a switch, want a NIC", name)
	case i == r.host.Node:
		return 0, fmt.Errorf("%s would exchange messages with itself", name)
	}
	return int32(i), nil
}

// tag reads the tag of a message, 0 if there is none.
func (r *stepReader) tag(words []string, s *program.Step) ([]string, error) {
	if len(words) == 0 || words[0] != "tag" {
		return words, nil
	}
	if len(words) == 1 {
		return nil, fmt.Errorf("tag without a number, want 0 to %d", maxTag)
	}
	n, err := strconv.ParseUint(words[1], 10, 32)
	if err != nil || n > maxTag {
		return nil, fmt.Errorf("tag %s, want 0 to %d", words[1], uint32(maxTag))
	}
	s.Tag = uint32(n)
	return words[2:], nil
}

// maxTag is the highest tag of a program. Those above it are those of collectives.
const maxTag = 1<<31 - 1

// conditions reads what a step waits for.
func (r *stepReader) conditions(i int, words []string) error {
	keyword, names := "", 0 // the last keyword, and the names after it
	for _, word := range words {
		for w := range strings.FieldsFuncSeq(word, func(c rune) bool { return c == ',' }) {
			switch {
			case w == "after" || w == "once_started":
				if keyword != "" && names == 0 {
					return fmt.Errorf("%s without a name, %s", keyword, grammar)
				}
				keyword, names = w, 0
			case keyword == "":
				return fmt.Errorf("%q after the step, %s", w, grammar)
			default:
				names++
				r.waitFor(i, w, keyword == "once_started")
			}
		}
	}
	if keyword != "" && names == 0 {
		return fmt.Errorf("%s without a name, %s", keyword, grammar)
	}
	return nil
}

// waitFor makes a step wait for a step of the host, or for what is read later.
func (r *stepReader) waitFor(step int, name string, begun bool) {
	if to, ok := r.labels[name]; ok {
		r.wait(step, to, begun)
	} else {
		r.later = append(r.later, pending{step, name, begun})
	}
}

// wait makes a step wait for another one.
func (r *stepReader) wait(step, to int, begun bool) {
	r.after[step] = append(r.after[step], conditionOn(to, begun))
}

func conditionOn(step int, begun bool) program.Condition {
	if begun {
		return program.Begun(step)
	}
	return program.Done(step)
}

// program returns the steps that were read.
func (r *stepReader) program() *program.Program {
	var p program.Program
	for i, s := range r.steps {
		p.Add(s, r.after[i]...)
	}
	return &p
}
