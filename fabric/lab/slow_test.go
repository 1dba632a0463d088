package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/rack"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// slowLab is the simplest form of the lab: it passes the earliest event of the rack to
// its machine, one at a time. It keeps every frame that is on a link.
type slowLab struct {
	s        *topology.Scenario
	ends     [][]topology.End
	machines []fabric.Machine
	flying   [][][]frame.Frame // by node and port that it comes to, in order of arrival
	plan     [][]fabric.Change // to come, of each node
	now      unit.Time
	out      fabric.Out
	notes    [][]fabric.Note // of each node
}

func newSlowLab(t testing.TB, s *topology.Scenario) *slowLab {
	t.Helper()
	w := &slowLab{s: s, ends: s.PortMap(), plan: rack.Plan(s, 0), notes: make([][]fabric.Note, len(s.Nodes))}
	machines, err := rack.New(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Nodes {
		m, err := machines.Machine(i)
		if err != nil {
			t.Fatal(err)
		}
		w.machines = append(w.machines, m)
		w.flying = append(w.flying, make([][]frame.Frame, len(w.ends[i])))
	}
	return w
}

// event is the next step of a node: apply a change, handle the first frame at a port, or
// tick.
type event struct {
	at   unit.Time
	node int
	port int // or one of the two below
}

// The kind of event, unless it is an arrival.
const (
	ticks   = -1
	changes = -2
)

// earliest returns the next event of the rack. At one instant a node handles changes
// first, then arrivals by port, then the tick.
func (w *slowLab) earliest() event {
	first := event{at: unit.Never}
	for node, m := range w.machines {
		if plan := w.plan[node]; len(plan) > 0 && plan[0].At < first.at {
			first = event{plan[0].At, node, changes}
		}
		for port, frames := range w.flying[node] {
			if len(frames) > 0 && frames[0].Arrival < first.at {
				first = event{frames[0].Arrival, node, port}
			}
		}
		if own, ok := m.Next(); ok && max(own, w.now) < first.at {
			first = event{max(own, w.now), node, ticks}
		}
	}
	return first
}

// step handles the earliest event before end and returns its output, false if there is
// none. frame is the frame that arrived, nil for a tick or a change.
func (w *slowLab) step(end unit.Time) (e event, arrived *frame.Frame, ok bool) {
	e = w.earliest()
	if e.at >= end {
		return e, nil, false
	}
	w.now = e.at
	w.out.Reset()
	switch e.port {
	case ticks:
		w.machines[e.node].Tick(e.at, &w.out)
	case changes:
		c := w.plan[e.node][0]
		w.plan[e.node] = w.plan[e.node][1:]
		w.machines[e.node].Control(e.at, &c, &w.out)
	default:
		queue := &w.flying[e.node][e.port]
		f := (*queue)[0]
		*queue = (*queue)[1:]
		before := f
		w.machines[e.node].Arrive(e.at, fabric.Port(e.port), &f, &w.out)
		arrived = &before
	}
	for _, s := range w.out.Sends {
		to := w.ends[e.node][s.Port]
		w.flying[to.Peer][to.PeerPort] = append(w.flying[to.Peer][to.PeerPort], *s.Frame)
	}
	w.notes[e.node] = append(w.notes[e.node], w.out.Notes...)
	return e, arrived, true
}
