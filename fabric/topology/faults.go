package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a scenario.
type Fault struct {
	Line int    // in the file, from 1; 0 if the scenario comes from no file
	Key  string // path of the key, "flows[2].size"; empty for the file as a whole
	What string // what is wrong, and what would be right
}

// Faults is the error of Parse: everything that is wrong with one scenario, in
// the order of lines.
type Faults struct {
	File string
	List []Fault
}

// Error writes one line per fault: "file:line: key: what".
func (f *Faults) Error() string {
	lines := make([]string, len(f.List))
	for i, fault := range f.List {
		var b strings.Builder
		b.WriteString(f.File)
		if fault.Line > 0 {
			fmt.Fprintf(&b, ":%d", fault.Line)
		}
		if fault.Key != "" {
			b.WriteString(": " + fault.Key)
		}
		lines[i] = b.String() + ": " + fault.What
	}
	return strings.Join(lines, "\n")
}

// place is where a key stands.
type place struct {
	key  string
	line int
}

// source is where the keys of one section stand. A section may be put together
// from several places: a node from its declaration, the defaults and overrides.
type source struct {
	place
	given map[string]place
}

func newSource(key string, line int) *source {
	return &source{place{key, line}, map[string]place{}}
}

// of gives the place that decided the key: where it was written last, or the
// section if it was not written at all.
func (s *source) of(key string) place {
	if p, ok := s.given[key]; ok {
		return p
	}
	return place{join(s.key, key), s.line}
}

func (s *source) has(key string) bool {
	_, ok := s.given[key]
	return ok
}

func join(section, key string) string {
	if section == "" {
		return key
	}
	return section + "." + key
}

// collector gathers faults, each once.
type collector struct {
	list []Fault
	seen map[Fault]bool
}

func (c *collector) fault(at place, format string, args ...any) {
	what := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ") // errors that are joined
	f := Fault{at.line, at.key, what}
	if c.seen[f] {
		return
	}
	if c.seen == nil {
		c.seen = map[Fault]bool{}
	}
	c.seen[f] = true
	c.list = append(c.list, f)
}

// err gives the faults as an error, nil if there is none.
func (c *collector) err(file string) error {
	if len(c.list) == 0 {
		return nil
	}
	slices.SortStableFunc(c.list, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return &Faults{File: file, List: c.list}
}
