package lab_test

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
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
	done     int             // flows completed
}

func newSlowLab(t rapid.TB, s *topology.Scenario) *slowLab {
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
	for i := range w.out.Notes {
		if w.out.Notes[i].Kind == fabric.Completed {
			w.done++
		}
	}
	return e, arrived, true
}

// book counts what happens in a slow lab.
type book interface {
	count(e event, arrived *frame.Frame) error // books one event
	balance() error                            // compares what was sent with where it is
}

// next is step, books the event, and checks the balance.
func (w *slowLab) next(t rapid.TB, b book, end unit.Time) bool {
	e, arrived, ok := w.step(end)
	if !ok {
		return false
	}
	err := b.count(e, arrived)
	if err == nil {
		err = b.balance()
	}
	if err != nil {
		t.Fatalf("under %s, at %s, after an event at %s: %v", w.s.Scheme, e.at, w.s.Nodes[e.node].Name, err)
	}
	return true
}

// finish goes on until every flow of the scenario is complete, and returns the end of that instant.
func (w *slowLab) finish(t rapid.TB, b book) unit.Time {
	for w.done < len(w.s.Flows) {
		if !w.next(t, b, w.s.Duration) {
			t.Fatalf("under %s: %d of %d flows done at %s", w.s.Scheme, w.done, len(w.s.Flows), w.now)
		}
	}
	end := w.now + unit.Picosecond
	for w.next(t, b, end) {
	}
	return end
}

// sameNotes checks that the lab records the same notes before end.
func (w *slowLab) sameNotes(t rapid.TB, end unit.Time) {
	l, err := lab.New(w.s)
	if err != nil {
		t.Fatal(err)
	}
	notes := make([][]fabric.Note, len(w.s.Nodes))
	l.PerFrame = true
	l.Listen = func(node int, some []fabric.Note) { notes[node] = append(notes[node], some...) }
	l.Run(end)
	if diff := cmp.Diff(w.notes, notes, cmpopts.EquateComparable(fabric.Event{})); diff != "" {
		t.Fatalf("the lab differs from the slow one under %s:\n%s", w.s.Scheme, diff)
	}
}
