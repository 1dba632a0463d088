package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pausedDuring returns the notes of a NIC that is paused during these spans, given as pairs of
// instants.
func pausedDuring(instants ...unit.Time) (notes []fabric.Note) {
	for i := 0; i < len(instants); i += 2 {
		notes = append(notes, note(instants[i], fabric.Paused, fabric.NoFlow, 0, 0),
			note(instants[i+1], fabric.Resumed, fabric.NoFlow, int64(instants[i+1]-instants[i]), 0))
	}
	return notes
}

// treeRack is the rack with a second bystander h1. In its run F0 and F1 together reach
// all of the bottleneck, except for half of it from 100 us to the end of the dip. The
// burst completes at 200 us.
func treeRack(duration, dip unit.Time) (*topology.Scenario, map[int][]fabric.Note) {
	s := rack()
	s.Duration = duration
	s.Nodes = append(s.Nodes, topology.Node{Name: "h1", Kind: topology.NIC, Host: 3, NIC: topology.NICSettings{Payload: 1000, Recovery: cc.RecoveryScheme}})
	s.Links = append(s.Links, topology.Link{A: 4, B: 3, BPort: 3, Rate: 40 * unit.GigabitPerSec, Delay: 5 * us, MTU: 1518})
	s.Flows = append(s.Flows, topology.Flow{Name: "F1", From: 4, To: 2, Size: -1, Burst: -1})
	var delivered []fabric.Note
	for at := unit.Time(0); at < duration; at += s.Bin {
		got := Bottleneck(s).In(s.Bin)
		if at >= 100*us && at < dip {
			got /= 2
		}
		delivered = append(delivered, note(at+us, fabric.Delivered, 0, int64(got), 0))
	}
	return s, map[int][]fabric.Note{1: {note(200*us, fabric.Completed, 1, 1000, int64(100*us))}, 2: delivered}
}

// The tree is that of the burst. It excludes PAUSE before the burst and after the
// recovery, and PAUSE that blocks a sender of the burst.
func TestTreeLastsFromTheBurstToTheRecovery(t *testing.T) {
	const run = 2000 * us
	for name, test := range map[string]struct {
		dip          unit.Time // until then the flows reach half of their bottleneck
		h0, h1, b0   []fabric.Note
		tree, paused unit.Time
	}{
		"before the burst":        {600 * us, pausedDuring(20*us, 40*us, 150*us, 250*us), nil, nil, 100 * us, 100 * us},
		"across its instant":      {600 * us, pausedDuring(80*us, 110*us), nil, nil, 10 * us, 10 * us},
		"late":                    {600 * us, pausedDuring(150*us, 250*us, 1900*us, 1912*us), nil, nil, 100 * us, 100 * us},
		"across the recovery":     {600 * us, pausedDuring(590*us, 620*us), nil, nil, 10 * us, 10 * us},
		"late, but not recovered": {1900 * us, pausedDuring(150*us, 250*us, 1890*us, 1895*us), nil, nil, 1745 * us, 105 * us},
		"nothing lost":            {0, pausedDuring(150*us, 180*us, 190*us, 210*us, 300*us, 310*us), nil, nil, 50 * us, 40 * us},
		"two bystanders":          {600 * us, pausedDuring(150*us, 250*us), pausedDuring(200*us, 300*us, 400*us, 410*us), nil, 260 * us, 160 * us},
		"of the burst":            {600 * us, nil, nil, pausedDuring(110*us, 390*us), 0, 0},
	} {
		s, notes := treeRack(run, test.dip)
		notes[0], notes[4], notes[1] = test.h0, test.h1, append(notes[1], test.b0...)
		r := merged(t, s, notes)
		if r.Tree != test.tree || r.PausedOutside != test.paused {
			t.Errorf("%s: tree %s, paused %s, want %s and %s (recovery %s)", name, r.Tree, r.PausedOutside, test.tree, test.paused, r.Recovery)
		}
	}
}

// Each burst has its own interval, and their trees add up.
func TestTreesOfSeveralBurstsAddUp(t *testing.T) {
	s, notes := treeRack(6000*us, 600*us)
	s.Bursts = append(s.Bursts, topology.Burst{Name: "C", Flows: 1, Size: 1000, At: 4000 * us})
	s.Flows = append(s.Flows, topology.Flow{Name: "C/b0/0", From: 1, To: 2, Size: 1000, Start: 4000 * us, Burst: 1})
	notes[1] = append(notes[1], note(4100*us, fabric.Completed, 3, 1000, int64(4000*us)))
	notes[0] = pausedDuring(200*us, 210*us, 300*us, 310*us, 3000*us, 3010*us, 4050*us, 4070*us)
	if r := merged(t, s, notes); r.Tree != 130*us || r.PausedOutside != 40*us {
		t.Errorf("tree %s, paused %s, want 110 + 20 us and 40 us", r.Tree, r.PausedOutside)
	}
	s.Bursts[1].At, s.Flows[3].Start = 500*us, 500*us // before the recovery: one interval
	if r := merged(t, s, notes); r.Tree != 3870*us {
		t.Errorf("overlapping intervals: tree %s, want 3870us", r.Tree)
	}
}

// Without single flows there is no recovery, and the burst's completion ends its tree.
// Without a burst the interval is the whole run.
func TestTreeWithoutABottleneckOrABurst(t *testing.T) {
	s, notes := treeRack(2000*us, 600*us)
	s.Flows = s.Flows[1:2]
	s.Commands = []topology.Command{{Verb: "put", From: []int{0}, Count: 1}}
	delete(notes, 2)
	notes[1] = []fabric.Note{note(200*us, fabric.Completed, 0, 1000, int64(100*us))}
	notes[0] = pausedDuring(50*us, 60*us, 150*us, 160*us, 300*us, 310*us)
	if r := merged(t, s, notes); r.Tree != 10*us || r.PausedOutside != 10*us {
		t.Errorf("no bottleneck: tree %s, paused %s, want 10us", r.Tree, r.PausedOutside)
	}
	delete(notes, 1)
	if r := merged(t, s, notes); r.Tree != 160*us {
		t.Errorf("the burst never completes: tree %s, want 160us", r.Tree)
	}
	s.Flows, s.Bursts = nil, nil
	if r := merged(t, s, notes); r.Tree != 260*us || r.PausedOutside != 30*us {
		t.Errorf("no burst: tree %s, paused %s, want 260us and 30us", r.Tree, r.PausedOutside)
	}
}

// A NIC that is paused in two classes counts as paused until both may send.
func TestPausedSpansAreTheUnionOfTheClasses(t *testing.T) {
	s := rack()
	at := func(t unit.Time, kind fabric.Kind, class fabric.Priority) fabric.Note {
		return fabric.Note{Event: fabric.Event{Kind: kind}, At: t, Flow: fabric.NoFlow, Priority: class}
	}
	r := NewRecorder(s, 0, s.PortMap()[0])
	r.Observe([]fabric.Note{
		at(10*us, fabric.Paused, 3), at(20*us, fabric.Paused, 4), at(30*us, fabric.Resumed, 3), at(40*us, fabric.Resumed, 4),
		at(350*us, fabric.Paused, 3),
	})
	if diff := cmp.Diff([]Span{{10 * us, 40 * us}, {350 * us, 400 * us}}, r.Result().Paused); diff != "" {
		t.Error(diff)
	}
	of := NewRecorder(s, 3, s.PortMap()[3])
	of.Observe(pausedDuring(10*us, 20*us))
	if got := of.Result(); got.Paused != nil || got.Ports[0].Paused != 10*us {
		t.Errorf("a switch: paused %v, port %v", got.Paused, got.Ports[0].Paused)
	}
}
