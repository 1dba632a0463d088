package imports

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// step is a step of a program, and the labels that it waits for. label may be empty.
type step struct {
	label, text    string
	after, started []string
	line           int // of the user's file, 0 if that is not known
}

// appendPrograms appends the steps of all hosts, those of h<i> at i, to a scenario.
func appendPrograms(b []byte, hosts [][]step) []byte {
	header := "programs:\n"
	for i, steps := range hosts {
		if len(steps) == 0 {
			continue
		}
		b = fmt.Appendf(b, "%s  h%d: |\n", header, i)
		header = ""
		for _, s := range steps {
			b = append(s.append(append(b, "    "...)), '\n')
		}
	}
	return b
}

// append writes the line of a step.
func (s *step) append(b []byte) []byte {
	if s.label != "" {
		b = append(append(b, s.label...), ": "...)
	}
	b = append(b, s.text...)
	for _, wait := range []struct {
		word   string
		labels []string
	}{{" after ", s.after}, {" once_started ", s.started}} {
		if len(wait.labels) > 0 {
			b = append(append(b, wait.word...), strings.Join(wait.labels, ", ")...)
		}
	}
	return b
}

// blamed says which steps of the user's files the faults of a scenario are about that was made of them. text is the
// scenario with the steps of all hosts, and from names a step: "t.goal:3".
func blamed(err error, text []byte, hosts [][]step, from func(host int, s *step) string) error {
	var found *scenariofile.Faults
	if !errors.As(err, &found) {
		return err
	}
	names := map[int]string{} // by line of the scenario
	for _, f := range found.List {
		names[f.Line] = ""
	}
	before, _, _ := bytes.Cut(text, []byte("\nprograms:\n"))
	line := bytes.Count(before, []byte("\n")) + 2 // that of the word programs
	for i, steps := range hosts {
		if len(steps) == 0 {
			continue
		}
		line++ // the name of the host
		for k := range steps {
			line++
			if _, faulty := names[line]; faulty {
				names[line] = from(i, &steps[k])
			}
		}
	}
	var of faults
	for _, f := range found.List {
		if names[f.Line] == "" {
			return err
		}
		of.add(names[f.Line] + ": " + f.What)
	}
	return &of
}
