package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// diary is a machine that records the order of its calls.
type diary struct {
	lines []string
	next  []unit.Time
}

func (d *diary) Arrive(now unit.Time, port fabric.Port, _ *frame.Frame, out *fabric.Out) {
	d.lines = append(d.lines, fmt.Sprintf("%d arrive %d", now, port))
}

func (d *diary) Control(now unit.Time, c *fabric.Change, _ *fabric.Out) {
	d.lines = append(d.lines, fmt.Sprintf("%d %s", now, c.Verb))
}

func (d *diary) Tick(now unit.Time, out *fabric.Out) {
	d.lines = append(d.lines, fmt.Sprintf("%d tick", now))
	d.next = d.next[1:]
}

func (d *diary) Next() (unit.Time, bool) {
	if len(d.next) == 0 {
		return 0, false
	}
	return d.next[0], true
}

func at(t unit.Time) *frame.Frame { return &frame.Frame{Arrival: t} }

func TestOrderIsTimeThenPortThenTick(t *testing.T) {
	d := &diary{next: []unit.Time{5, 7}}
	n := New(d, 3, nil)
	n.Push(2, at(5))
	n.Push(1, at(5))
	n.Push(1, at(6))
	n.Push(0, at(7))
	var out fabric.Out
	n.Run(7, &out)
	want := []string{"5 arrive 1", "5 arrive 2", "5 tick", "6 arrive 1"}
	if !slices.Equal(d.lines, want) {
		t.Fatalf("got %v, want %v", d.lines, want)
	}
	if n.Next() != 7 || n.Arrivals() != 3 || n.Now() != 6 {
		t.Fatalf("next %d, arrivals %d, now %d", n.Next(), n.Arrivals(), n.Now())
	}
	n.Run(unit.Never, &out)
	if n.Next() != unit.Never {
		t.Fatalf("next event of an empty node at %d", n.Next())
	}
}

func TestFrameFromThePastPanicsWithBothInstants(t *testing.T) {
	n := New(&diary{}, 1, nil)
	n.Push(0, at(10))
	var out fabric.Out
	n.Run(11, &out)
	defer func() {
		text := fmt.Sprint(recover())
		if !strings.Contains(text, "9 ps") || !strings.Contains(text, "10 ps") {
			t.Fatalf("panic message %q", text)
		}
	}()
	n.Push(0, at(9))
}

func TestDigestCoversTimePortPayloadAndBytes(t *testing.T) {
	digest := func(arrival unit.Time, port fabric.Port, payload uint32, head string, number ...uint32) uint64 {
		n := New(&diary{}, 2, nil)
		f := &frame.Frame{Arrival: arrival, Payload: payload}
		f.SetHeader([]byte(head))
		if len(number) > 0 {
			f.Sequence = number[0]
		}
		n.Push(port, f)
		var out fabric.Out
		n.Run(unit.Never, &out)
		return n.Digest()
	}
	seen := map[uint64]string{}
	for name, d := range map[string]uint64{
		"base": digest(1, 0, 10, "abc"), "time": digest(2, 0, 10, "abc"), "port": digest(1, 1, 10, "abc"),
		"payload": digest(1, 0, 11, "abc"), "bytes": digest(1, 0, 10, "abd"), "length": digest(1, 0, 10, "abc\x00"),
		"number on the link": digest(1, 0, 10, "abc", frame.Numbered),
	} {
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[d] = name
	}
	if Combine([]uint64{1, 2}) == Combine([]uint64{2, 1}) {
		t.Error("the run's digest does not depend on the order of nodes")
	}
}

// The twin sorts all arrivals; the node merges them port by port.
func TestMergeMatchesASort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ports := rapid.IntRange(1, 9).Draw(t, "ports")
		d := &diary{}
		n := New(d, ports, nil)
		type arrival struct {
			at   unit.Time
			port int
		}
		var all []arrival
		for p := range ports {
			times := rapid.SliceOfN(rapid.Int64Range(0, 50), 0, 40).Draw(t, "times")
			slices.Sort(times)
			for _, v := range times {
				n.Push(fabric.Port(p), at(unit.Time(v)))
				all = append(all, arrival{unit.Time(v), p})
			}
		}
		slices.SortStableFunc(all, func(a, b arrival) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return a.port - b.port
		})
		var out fabric.Out
		for bound := unit.Time(7); n.Next() != unit.Never; bound += 7 {
			n.Run(bound, &out)
		}
		for i, a := range all {
			if want := fmt.Sprintf("%d arrive %d", a.at, a.port); d.lines[i] != want {
				t.Fatalf("step %d: %s, want %s", i, d.lines[i], want)
			}
		}
	})
}

// At one instant changes come first, in the order of the plan.
func TestChangesPrecedeArrivals(t *testing.T) {
	d := &diary{next: []unit.Time{5}}
	n := New(d, 1, nil)
	n.Push(0, at(5))
	n.Plan([]fabric.Change{{At: 3, Verb: fabric.Freeze}, {At: 5, Verb: fabric.Thaw}, {At: 5, Verb: fabric.Tune}, {At: 9, Verb: fabric.Freeze}})
	var out fabric.Out
	if n.Next() != 3 {
		t.Errorf("next %d, want the first change at 3", n.Next())
	}
	n.Run(6, &out)
	if want := []string{"3 freeze", "5 thaw", "5 tune", "5 arrive 0", "5 tick"}; !slices.Equal(d.lines, want) {
		t.Errorf("got %v, want %v", d.lines, want)
	}
	n.Plan([]fabric.Change{{At: 6, Verb: fabric.LinkUp}})
	if n.Run(100, &out); d.lines[5] != "6 link-up" || len(d.lines) != 6 || n.Applied() != 4 {
		t.Errorf("after a new plan: %v, %d applied", d.lines, n.Applied())
	}
}

// A change is part of the digest, with its instant.
func TestDigestCoversChanges(t *testing.T) {
	seen := map[uint64]fabric.Change{}
	for _, c := range []fabric.Change{
		{At: 1, Verb: fabric.Freeze},
		{At: 2, Verb: fabric.Freeze},
		{At: 1, Verb: fabric.Thaw},
		{At: 1, Verb: fabric.Tune, Key: fabric.KeyXOFF},
		{At: 1, Verb: fabric.Tune, Key: fabric.KeyXON},
		{At: 1, Verb: fabric.Tune, Key: fabric.KeyXOFF, Value: 1},
		{At: 1, Verb: fabric.StopFlow, Flow: 1},
		{At: 1, Verb: fabric.LinkDown, Port: 1},
		{At: 1, Verb: fabric.LinkDown, Routes: [][]fabric.Port{{1}, {}}},
		{At: 1, Verb: fabric.LinkDown, Routes: [][]fabric.Port{{}, {1}}},
		{At: 1, Verb: fabric.AddFlows, Flows: []fabric.Flow{{ID: 1}}},
		{At: 1, Verb: fabric.AddFlows, Flows: []fabric.Flow{{ID: 1, Baseline: true}}},
	} {
		n := New(&diary{}, 1, nil)
		n.Plan([]fabric.Change{c})
		n.Run(10, &fabric.Out{})
		if other, twice := seen[n.Digest()]; twice {
			t.Errorf("%+v and %+v have the same digest", c, other)
		}
		seen[n.Digest()] = c
	}
	if _, ok := seen[New(&diary{}, 1, nil).Digest()]; ok {
		t.Error("the digest does not depend on the change")
	}
}

// stubborn requests a tick at the same instant forever.
type stubborn struct{ diary }

func (s *stubborn) Tick(unit.Time, *fabric.Out) {}
func (s *stubborn) Next() (unit.Time, bool)     { return 3, true }

func TestMachineThatDoesNotAdvancePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	var out fabric.Out
	New(&stubborn{}, 1, nil).Run(4, &out)
}

// Frames pass through nodes in one loop without a copy, and return to their pool.
func TestTakeDoesNotCopy(t *testing.T) {
	var pool frame.Pool
	n := New(&diary{}, 1, &pool)
	f := pool.Get()
	*f = *at(5)
	n.Take(0, f)
	if pool.Get() == f {
		t.Fatal("a frame in the inbox is in the pool")
	}
	var out fabric.Out
	if n.Run(6, &out); pool.Get() != f {
		t.Error("the frame that was handled is not in the pool")
	}
}
