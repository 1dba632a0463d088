// Package lab drives all machines of a scenario in one process, in virtual
// time. It is the bench of the script tests and the engine of `--bus memory`.
// It knows the order of events, and no algorithm.
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
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Lab is a rack in one process.
//
// It advances in windows: every link delays by at least the lookahead, so all
// nodes can handle what lies before the earliest event plus the lookahead, each
// by itself, and nothing that they send falls into the same window.
type Lab struct {
	scenario  *topology.Scenario
	nodes     []*node.Node
	recorders []*measure.Recorder
	ports     [][]topology.End
	lookahead unit.Time
	now       unit.Time
	out       fabric.Out
	// Listen, if set, gets the notes of a node, in order of time within a call.
	// Notes of every frame are left out unless PerFrame is set. See Hear for several
	// listeners.
	Listen   func(node int, notes []fabric.Note)
	PerFrame bool
	// Follow says for which messages the notes of every frame are made all the same.
	Follow *fabric.Selection
}

// New builds the rack of s. The error names the node that cannot be built.
func New(s *topology.Scenario) (*Lab, error) {
	machines, err := rack.New(s)
	if err != nil {
		return nil, err
	}
	l := &Lab{scenario: s, ports: s.PortMap(), lookahead: unit.Never}
	for i, n := range s.Nodes {
		m, err := machines.Machine(i)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		l.nodes = append(l.nodes, node.New(m, len(l.ports[i])))
		l.recorders = append(l.recorders, measure.NewRecorder(s, i))
	}
	for i, changes := range rack.Plan(s, 0) {
		l.nodes[i].Plan(changes)
	}
	for _, link := range s.Links {
		least := link.Delay + link.Rate.Serialise(frame.MinLen+link.Overhead)
		l.lookahead = min(l.lookahead, least)
	}
	return l, nil
}

// Now is the instant before which every event has been handled.
func (l *Lab) Now() unit.Time { return l.now }

// Next is the instant of the earliest event of the rack, Never if there is none.
func (l *Lab) Next() unit.Time {
	at := unit.Never
	for _, n := range l.nodes {
		at = min(at, n.Next())
	}
	return at
}

// FrameHops counts the frames that have arrived at a node.
func (l *Lab) FrameHops() (hops int64) {
	for _, n := range l.nodes {
		hops += n.Arrivals()
	}
	return hops
}

// Run handles every event before end, which must not lie past the scenario's
// duration.
func (l *Lab) Run(end unit.Time) {
	for {
		at := l.Next()
		if at >= end {
			l.now = max(l.now, end)
			return
		}
		l.window(min(at+l.lookahead, end))
	}
}

// Steps runs the scenario to its end in n equal steps of fabric time, and gives
// the instant reached after each: for callers that show progress or may stop.
func (l *Lab) Steps(n int) iter.Seq[unit.Time] {
	return func(yield func(unit.Time) bool) {
		end := l.scenario.Duration
		for l.now < end {
			l.Run(min(end, l.now+max(end/unit.Time(n), 1)))
			if !yield(l.now) {
				return
			}
		}
	}
}

// window lets every node handle what lies before bound.
func (l *Lab) window(bound unit.Time) {
	for i, n := range l.nodes {
		for n.Next() < bound {
			l.out.Reset()
			l.out.Quiet, l.out.Follow = !l.PerFrame, l.Follow
			n.Run(bound, &l.out)
			l.deliver(i)
		}
	}
	l.now = bound
}

// deliver passes on what node i has put out.
func (l *Lab) deliver(i int) {
	ends := l.ports[i]
	for s := range l.out.Sends {
		send := &l.out.Sends[s]
		end := ends[send.Port]
		l.nodes[end.Peer].Push(end.PeerPort, &send.Frame)
	}
	l.recorders[i].Observe(l.out.Notes)
	if l.Listen != nil {
		l.Listen(i, l.out.Notes)
	}
}

// Hear passes the notes of some kinds to hear, beside what Listen does already: a
// node's in order of time, the nodes in no order. Call it before the run.
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

// Look puts a tap at the node of the scenario with that index, in the place of the
// one before; nil is none.
func (l *Lab) Look(index int, t *node.Tap) { l.nodes[index].Look(t) }

// Machine gives the machine of the node of the scenario with that index, to be
// looked at.
func (l *Lab) Machine(index int) fabric.Machine { return l.nodes[index].Machine() }

// Change makes a change from a present or later instant on; see
// topology.Scenario.Extend. An instant before Now is refused.
func (l *Lab) Change(c topology.Change) error {
	if c.At < l.now {
		return fmt.Errorf("change at %s, but every event before %s has been handled", c.At, l.now)
	}
	next, err := l.scenario.Extend(c)
	if err != nil {
		return err
	}
	l.scenario = next
	for i, changes := range rack.Plan(next, l.now) {
		l.nodes[i].Plan(changes)
		l.recorders[i].Extend(next)
	}
	return nil
}

// Scenario is the scenario with all changes so far.
func (l *Lab) Scenario() *topology.Scenario { return l.scenario }

// Results closes the measurement and gives one result per node.
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

// Outcome closes the measurement and puts the nodes' results together.
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
