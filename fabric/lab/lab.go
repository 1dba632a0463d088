// Package lab runs all machines of a scenario in one process, in virtual time. The
// script tests use it, and `--bus memory` runs on it. It knows the order of events,
// and no algorithm.
package lab

import (
	"fmt"
	"iter"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/rack"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Lab is a rack in one process. Its nodes are in one group, or in several that may run
// on several cores, see Cut and Window.
type Lab struct {
	scenario  *topology.Scenario
	nodes     []*node.Node
	recorders []*measure.Recorder
	ports     [][]topology.End
	groups    []*group
	pools     []*frame.Pool // of the groups, and of those of earlier cuts
	places    []place       // of the nodes in the groups
	across    unit.Time     // lookahead of the links between groups
	now       unit.Time
	// Listen, if set, is called with the notes of a node, in order of time within a
	// call. Per-frame notes are omitted unless PerFrame is set. Use Hear for several
	// listeners.
	Listen   func(node int, notes []fabric.Note)
	PerFrame bool
	// Follow selects the messages whose per-frame notes are recorded in any case.
	Follow *fabric.Selection
}

// New builds the rack of s. The error names the node that cannot be built.
func New(s *topology.Scenario) (*Lab, error) {
	machines, err := rack.New(s)
	if err != nil {
		return nil, err
	}
	l := &Lab{scenario: s, ports: s.PortMap()}
	for i, n := range s.Nodes {
		m, err := machines.Machine(i)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		l.nodes = append(l.nodes, node.New(m, len(l.ports[i]), nil))
		l.recorders = append(l.recorders, measure.NewRecorder(s, i, l.ports[i]))
	}
	for i, changes := range rack.Plan(s, 0) {
		l.nodes[i].Plan(changes)
	}
	l.Cut(make([]int, len(l.nodes)))
	return l, nil
}

// Now returns the instant before which every event has been handled.
func (l *Lab) Now() unit.Time { return l.now }

// Next returns the instant of the earliest event of the rack, Never if there is none.
func (l *Lab) Next() unit.Time {
	at := unit.Never
	for _, n := range l.nodes {
		at = min(at, n.Next())
	}
	return at
}

// FrameHops returns the number of frame arrivals over all nodes.
func (l *Lab) FrameHops() (hops int64) {
	for _, n := range l.nodes {
		hops += n.Arrivals()
	}
	return hops
}

// Run handles every event before end, which must not exceed the scenario's
// duration. It runs all groups on the caller's core.
func (l *Lab) Run(end unit.Time) {
	l.Begin()
	for more := true; more; {
		for g := range l.groups {
			more = l.Window(g, end)
		}
	}
}

// Steps runs the scenario to its end in n equal steps of fabric time, each by a call of
// run, such as l.Run. It yields the instant reached after each step, for callers that
// show progress or may stop.
func (l *Lab) Steps(n int, run func(end unit.Time)) iter.Seq[unit.Time] {
	return func(yield func(unit.Time) bool) {
		end := l.scenario.Duration
		for l.now < end {
			run(min(end, l.now+max(end/unit.Time(n), 1)))
			if !yield(l.now) {
				return
			}
		}
	}
}

// Hear calls hear with the notes of the given kinds, in addition to the current
// Listen. The notes of a node come in order of time; the order of the nodes is
// undefined, and depends on the groups. Call Hear before the run.
func (l *Lab) Hear(kinds []fabric.Kind, hear func(node int, notes []fabric.Note)) {
	l.PerFrame = l.PerFrame || slices.ContainsFunc(kinds, fabric.Kind.PerFrame)
	before, chosen := l.Listen, []fabric.Note(nil)
	l.Listen = func(node int, notes []fabric.Note) {
		if before != nil {
			before(node, notes)
		}
		chosen = chosen[:0]
		for i := range notes {
			if slices.Contains(kinds, notes[i].Kind) {
				chosen = append(chosen, notes[i])
			}
		}
		hear(node, chosen)
	}
}

// Look sets the tap of the node with that index in the scenario and replaces the
// previous one; nil removes it. The tap is called on the core of the node's group.
func (l *Lab) Look(index int, t *node.Tap) { l.nodes[index].Look(t) }

// Machine returns the machine of the node with that index in the scenario, for
// inspection.
func (l *Lab) Machine(index int) fabric.Machine { return l.nodes[index].Machine() }

// Change schedules a change at the present or a later instant, see
// topology.Scenario.Extend. An instant before Now is an error.
func (l *Lab) Change(c topology.Change) error {
	if c.At < l.now {
		return fmt.Errorf("change at %s, but every event before %s has been handled", c.At, l.now)
	}
	next, err := scenariofile.Extend(l.scenario, c)
	if err != nil {
		return err
	}
	l.scenario = next
	for i, changes := range rack.Plan(next, l.now) {
		at := l.places[i]
		l.groups[at.group].Plan(at.node, changes)
		l.recorders[i].Extend(next)
	}
	return nil
}

// Scenario returns the scenario with all changes so far.
func (l *Lab) Scenario() *topology.Scenario { return l.scenario }

// Results ends the measurement and returns one result per node.
func (l *Lab) Results() []*measure.NodeResult {
	results := make([]*measure.NodeResult, len(l.nodes))
	for i, n := range l.nodes {
		l.recorders[i].Count(n.Machine())
		r := l.recorders[i].Result()
		r.Digest, r.FrameHops = n.Digest(), n.Arrivals()
		results[i] = r
	}
	return results
}

// Outcome ends the measurement and merges the results of the nodes.
func (l *Lab) Outcome() (*measure.Run, error) { return measure.Merge(l.scenario, l.Results()) }

// Measure runs the scenario from its start to its end.
func Measure(s *topology.Scenario) (*measure.Run, error) {
	l, err := New(s)
	if err != nil {
		return nil, err
	}
	l.Run(s.Duration)
	return l.Outcome()
}
