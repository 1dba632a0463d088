// Package study sets what a document claims beside what the fabric did: it runs
// scenarios in the lab, listens to every frame, and gives rows and figures. It
// knows the claims; it does not know how rows are shown.
package study

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
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

// observed runs the scenario to its end and hands every note to hear, a node's in
// order, the nodes' in no order that means anything.
func observed(s *topology.Scenario, hear func(node int, notes []fabric.Note)) (*measure.Run, error) {
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	l.PerFrame, l.Listen = true, hear
	l.Run(s.Duration)
	return measure.Merge(s, l.Results())
}
