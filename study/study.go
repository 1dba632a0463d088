// Package study sets what a document claims beside what the fabric did: it runs
// scenarios on a bench, takes the notes that it needs, and gives rows and figures. It
// knows the claims; it knows neither where a scenario runs nor how rows are shown.
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

// parse gives a scenario that comes with rackfab, changed by settings.
func parse(name string, set []topology.Setting) (*topology.Scenario, error) {
	text, ok := topology.Builtin(name)
	if !ok {
		return nil, fmt.Errorf("study: no scenario %s", name)
	}
	return topology.ParseWith(name, text, set)
}

// heard is a note and the node that it came from.
type heard struct {
	node int
	fabric.Note
}

// Bench runs a scenario from start to end and passes the notes of some kinds to hear:
// those of a node in order of time, those of several nodes in no order.
type Bench func(s *topology.Scenario, kinds []fabric.Kind, hear func(node int, notes []fabric.Note)) (*measure.Run, error)

// InMemory is the Bench of one process.
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

// inOrder sorts notes by instant, and those of one instant by node.
func inOrder(all []heard) {
	slices.SortStableFunc(all, func(a, b heard) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.node, b.node)) })
}
