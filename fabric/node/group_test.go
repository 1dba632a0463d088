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
	nodes[0].Push(0, &frame.Frame{Arrival: 10})
	nodes[0].Push(0, &frame.Frame{Arrival: 12})
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
