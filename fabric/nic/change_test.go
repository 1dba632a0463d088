package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/unit"
)

// An invalid change is noted and has no effect.
func TestInvalidChanges(t *testing.T) {
	for _, c := range []fabric.Change{
		{Verb: fabric.Reroute},
		{Verb: fabric.Tune, Key: fabric.KeyXOFF, Value: 1},
		{Verb: fabric.AddFlows, Flows: []fabric.Flow{{ID: 0, From: 0, To: 1, Size: 1}}}, // exists already
		{Verb: fabric.AddFlows, Flows: []fabric.Flow{{ID: 7, From: 3, To: 4, Size: 1}}}, // of other hosts
		{Verb: fabric.AddFlows, Flows: []fabric.Flow{{ID: 7, From: 0, To: 1, Size: 0}}},
	} {
		n := changeable(t)
		var out fabric.Out
		n.Control(5, &c, &out)
		if len(out.Notes) != 1 || out.Notes[0].Kind != fabric.Inapplicable || out.Notes[0].Verb() != c.Verb {
			t.Errorf("%+v: notes %+v", c, out.Notes)
		}
		if s := n.Stats(); len(s.Senders) != 1 || len(s.Receivers) != 0 {
			t.Errorf("%+v: %d senders", c, len(s.Senders))
		}
	}
}

// A frozen NIC requests no tick, and a NIC whose link is down sends nothing. Both continue
// from the same state.
func TestFrozenAndUnplugged(t *testing.T) {
	for _, verbs := range [][2]fabric.Verb{{fabric.Freeze, fabric.Thaw}, {fabric.LinkDown, fabric.LinkUp}} {
		n := changeable(t)
		var out fabric.Out
		n.Control(0, &fabric.Change{Verb: verbs[0]}, &out)
		n.Tick(0, &out)
		n.Control(0, &fabric.Change{Verb: verbs[0]}, &out) // repetition has no effect
		if len(out.Sends) != 0 {
			t.Errorf("after %s it sends", verbs[0])
		}
		if at, ok := n.Next(); ok && at == 0 {
			t.Errorf("after %s it requests a tick at once", verbs[0])
		}
		n.Control(9, &fabric.Change{Verb: verbs[1]}, &out)
		at, ok := n.Next()
		if n.Tick(9, &out); !ok || at != 9 || len(out.Sends) != 1 {
			t.Errorf("after %s: next %d %v, %d sends", verbs[1], at, ok, len(out.Sends))
		}
		if kinds := []fabric.Kind{out.Notes[0].Kind, out.Notes[len(out.Notes)-2].Kind}; kinds[0] != fabric.Froze && kinds[0] != fabric.WentDown {
			t.Errorf("notes of %s: %v", verbs[0], kinds)
		}
	}
}

// A stopped flow never sends again, even if its timers were running.
func TestStoppedFlow(t *testing.T) {
	n := changeable(t)
	var out fabric.Out
	n.Tick(0, &out)
	n.Control(1, &fabric.Change{Verb: fabric.StopFlow, Flow: 0}, &out)
	sends := len(out.Sends)
	for range 100 {
		at, ok := n.Next()
		if !ok {
			break
		}
		n.Tick(at, &out)
	}
	if _, ok := n.Next(); ok || sends != 1 || len(out.Sends) != sends {
		t.Errorf("%d frames before the stop, %d after, and a tick is wanted: %v", sends, len(out.Sends)-sends, ok)
	}
}

// An added flow is sent like a flow of the configuration.
func TestAddedFlowBehavesLikeAnyOther(t *testing.T) {
	n := changeable(t)
	var out fabric.Out
	n.Control(10, &fabric.Change{Verb: fabric.StopFlow, Flow: 0}, &out)
	n.Control(10, &fabric.Change{Verb: fabric.AddFlows, Flows: []fabric.Flow{{ID: 5, From: 0, To: 1, Size: 1500, Start: 20}}}, &out)
	if at, ok := n.Next(); !ok || at != 20 {
		t.Fatalf("next %d %v, want the start at 20", at, ok)
	}
	n.Tick(20, &out)
	at, _ := n.Next()
	n.Tick(at, &out)
	// The stopped flow has been dropped.
	if len(out.Sends) != 2 || n.Stats().Senders[0].SentPackets != 2 {
		t.Errorf("%d frames, %+v", len(out.Sends), n.Stats().Senders)
	}
}

// changeable returns host 0 with flow 0 of 10 KB to host 1.
func changeable(t *testing.T) *NIC {
	t.Helper()
	n, err := New(Config{
		Name: "h0", Delay: unit.Microsecond, ControlQueue: 16,
		Settings: qp.Settings{
			Rate: 40 * unit.GigabitPerSec, Payload: 1000, AckEvery: 1, Timeout: unit.Millisecond,
			ControlDSCP: 48, Scheme: "pfc", DSCP: [64]fabric.Priority{26: 3, 48: 6},
		},
		Flows: []FlowConfig{{ID: 0, From: 0, To: 1, Size: 10_000, DSCP: 26}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
