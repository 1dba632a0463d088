package imports

import (
	"fmt"
	"strings"
)

// step is a step of a program, and the labels that it waits for. label may be empty.
type step struct {
	label, text    string
	after, started []string
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
