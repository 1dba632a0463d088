package node

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// echo sends back each frame that it receives, and one frame at each tick.
type echo struct{ diary }

func (e *echo) Arrive(now unit.Time, port fabric.Port, f *frame.Frame, out *fabric.Out) {
	e.diary.Arrive(now, port, f, out)
	out.Send(port).Arrival = now + 100
	out.Note(fabric.Note{Event: fabric.Event{Kind: fabric.Delivered}, At: now})
}

func (e *echo) Tick(now unit.Time, out *fabric.Out) {
	e.diary.Tick(now, out)
	out.Send(1).Arrival = now + 200
}

// A tap sees each frame once, in the order of events, and all notes. It does not change
// the behaviour of the node.
func TestTapSeesEveryFrameOnce(t *testing.T) {
	var seen []string
	tap := &Tap{
		Frame: func(at unit.Time, port fabric.Port, way Way, f *frame.Frame) {
			seen = append(seen, fmt.Sprintf("%d %s %d %d", at, way, port, f.Arrival))
		},
		Event: func(at unit.Time, notes []fabric.Note) {
			seen = append(seen, fmt.Sprintf("%d event %d", at, len(notes)))
		},
	}
	run := func(with *Tap) (uint64, int) {
		e := &echo{diary{next: []unit.Time{5}}}
		n := New(e, 2, nil)
		n.Look(with)
		n.Plan([]fabric.Change{{At: 4, Verb: fabric.Freeze}})
		n.Push(0, at(5))
		n.Push(1, at(7))
		var out fabric.Out
		n.Run(unit.Never, &out)
		return n.Digest(), len(out.Sends)
	}
	digest, sends := run(tap)
	want := []string{
		"4 event 0", "5 in 0 5", "5 out 0 105", "5 event 1", "5 out 1 205", "5 event 0", "7 in 1 7", "7 out 1 107", "7 event 1",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %q\nwant %q", seen, want)
	}
	for _, other := range []*Tap{nil, {}} {
		if d, s := run(other); d != digest || s != sends {
			t.Errorf("digest %x and %d sends with another tap, %x and %d with this one", d, s, digest, sends)
		}
	}
}
