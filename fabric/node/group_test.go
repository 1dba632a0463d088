package node

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// relay is a machine that sends every frame on, through its other port, a fixed delay
// after its arrival. It keeps nothing.
type relay struct{ delay unit.Time }

func (r relay) Arrive(now unit.Time, port fabric.Port, f *frame.Frame, out *fabric.Out) {
	s := out.Send(1 - port)
	*s = *f
	s.Arrival = now + r.delay
}

func (relay) Control(unit.Time, *fabric.Change, *fabric.Out) {}
func (relay) Tick(unit.Time, *fabric.Out)                    {}
func (relay) Next() (unit.Time, bool)                        { return 0, false }

// Frames between nodes of a group pass in memory, in windows of the lookahead. Those
// that leave it are left to the caller.
func TestGroupDeliversInside(t *testing.T) {
	pool := new(frame.Pool)
	nodes := []*Node{New(relay{5}, 2, pool), New(relay{7}, 2, pool)}
	g := NewGroup(nodes, [][]End{{Outside, {1, 0}}, {{0, 1}, Outside}}, 5)
	g.Push(0, 0, &frame.Frame{Arrival: 10})
	g.Push(0, 0, &frame.Frame{Arrival: 12})
	var out fabric.Out
	var left []unit.Time
	windows := 0
	for bound := unit.Time(20); g.Next() < bound; windows++ {
		g.Window(bound, &out, func(i int) {
			for _, s := range out.Sends {
				switch {
				case s.Frame == nil:
				case i == 1 && s.Port == 1:
					left = append(left, s.Frame.Arrival)
				default:
					t.Errorf("node %d has sent %+v, and the group did not deliver it", i, s)
				}
			}
		})
	}
	if len(left) != 2 || left[0] != 22 || left[1] != 24 {
		t.Errorf("frames left at %v, want 22 and 24", left)
	}
	if windows != 2 || nodes[0].Arrivals() != 2 || nodes[1].Arrivals() != 2 {
		t.Errorf("%d windows, %d and %d arrivals", windows, nodes[0].Arrivals(), nodes[1].Arrivals())
	}
	if g.Next() != unit.Never {
		t.Errorf("next event at %s, want none", g.Next())
	}
}

// The group knows the earliest of all arrivals, changes and own events of its nodes. A plan
// that is withdrawn counts until the next window.
func TestGroupNext(t *testing.T) {
	pool := new(frame.Pool)
	nodes := []*Node{New(relay{5}, 2, pool), New(relay{7}, 2, pool)}
	nodes[1].Plan([]fabric.Change{{At: 90}})
	g := NewGroup(nodes, [][]End{{Outside, {1, 0}}, {{0, 1}, Outside}}, 5)
	var out fabric.Out
	window := func(bound unit.Time) func() { return func() { g.Window(bound, &out, func(int) {}) } }
	for i, step := range []struct {
		do   func()
		want unit.Time
	}{
		{func() {}, 90},
		{func() { g.Plan(0, []fabric.Change{{At: 30}, {At: 60}}) }, 30},
		{func() { g.Push(0, 0, &frame.Frame{Arrival: 40}) }, 30},
		{func() { g.Take(1, 1, &frame.Frame{Arrival: 20}) }, 20},
		{window(100), 27}, // node 1 has sent the frame to node 0, which precedes it in the window
		{window(28), 30},  // it has left
		{window(100), 40}, // a change
		{window(100), 45}, // the frame is on its way to node 1
		{window(100), 60}, // it has left
		{func() { g.Plan(0, nil) }, 60},
		{window(70), 90},
		{window(90), 90},
		{window(91), unit.Never},
	} {
		if step.do(); g.Next() != step.want {
			t.Fatalf("step %d: next event at %d, want %d", i, g.Next(), step.want)
		}
	}
}
