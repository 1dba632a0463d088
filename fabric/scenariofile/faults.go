package scenariofile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fault is one error in a scenario.
type Fault struct {
	Line int    // in the file, from 1; 0 if the scenario was not read from a file
	Key  string // path of the key, "flows[2].size"; empty for the file as a whole
	What string // what is wrong, and what is allowed
}

// Faults is the error of Parse: all errors of one scenario, in the order of lines.
type Faults struct {
	File string // "" if there is none
	List []Fault
}

// Error returns one line per fault: "file:line: key: what".
func (f *Faults) Error() string {
	lines := make([]string, len(f.List))
	for i, fault := range f.List {
		at := f.File
		if fault.Line > 0 {
			at += ":" + strconv.Itoa(fault.Line)
		}
		parts := slices.DeleteFunc([]string{at, fault.Key, fault.What}, func(part string) bool { return part == "" })
		lines[i] = strings.Join(parts, ": ")
	}
	return strings.Join(lines, "\n")
}

// place is the location of a key in a file.
type place struct {
	key  string
	line int
}

// source holds the places of the keys of one section. A section may combine several
// places: a node has its declaration, the defaults and overrides.
type source struct {
	place
	given map[string]place
}

func newSource(key string, line int) *source {
	return &source{place{key, line}, map[string]place{}}
}

// of returns the place that determined the key: the last one that set it, or the
// section if none did.
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

// collector gathers faults without duplicates.
type collector struct {
	list []Fault
	seen map[Fault]bool
	mute bool // drops faults
}

func (c *collector) fault(at place, format string, args ...any) {
	if c.mute {
		return
	}
	what := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ") // joined errors
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

// require adds a fault unless ok. It returns ok.
func (c *collector) require(ok bool, at place, format string, args ...any) bool {
	if !ok {
		c.fault(at, format, args...)
	}
	return ok
}

// accept adds an error as a fault. It reports whether there was none.
func (c *collector) accept(err error, at place) bool { return c.require(err == nil, at, "%v", err) }

// err returns the faults as an error, or nil if there are none.
func (c *collector) err(file string) error {
	if len(c.list) == 0 {
		return nil
	}
	slices.SortStableFunc(c.list, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return &Faults{File: file, List: c.list}
}
