// Package study compares the claims of a document with the behaviour of the fabric. It
// runs scenarios on a bench, reads the notes that it needs, and returns rows and
// figures. It knows the claims, but not where a scenario runs or how rows are shown.
package study

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
)

// parse returns a built-in scenario with the settings applied.
func parse(name string, set []topology.Setting) (*topology.Scenario, error) {
	text, ok := topology.Builtin(name)
	if !ok {
		return nil, fmt.Errorf("study: no scenario %s", name)
	}
	return topology.ParseWith(name, text, set)
}

// heard is a note and its node.
type heard struct {
	node int
	fabric.Note
}

// Bench runs a scenario from start to end and passes the notes of some kinds to hear.
// The notes of one node are in time order; the notes of different nodes are not
// ordered.
type Bench func(s *topology.Scenario, kinds []fabric.Kind, hear func(node int, notes []fabric.Note)) (*measure.Run, error)

// InMemory is a Bench that runs in this process.
func InMemory(s *topology.Scenario, kinds []fabric.Kind, hear func(node int, notes []fabric.Note)) (*measure.Run, error) {
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	l.Hear(kinds, hear)
	l.Run(s.Duration)
	return l.Outcome()
}

// Digest combines the digests of an experiment's runs, in the order given.
func Digest(runs []*measure.Run) (string, error) {
	list := make([]uint64, len(runs))
	for i, run := range runs {
		var err error
		if list[i], err = strconv.ParseUint(run.Digest, 16, 64); err != nil {
			return "", fmt.Errorf("study: digest of run %d: %w", i, err)
		}
	}
	return fmt.Sprintf("%016x", node.Combine(list)), nil
}

// inOrder sorts notes by instant, and notes of the same instant by node.
func inOrder(all []heard) {
	slices.SortStableFunc(all, func(a, b heard) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.node, b.node)) })
}
