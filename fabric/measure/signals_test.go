package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// signalled returns the signals of flow 0 for the given notes, with the base RTT from
// the scenario. A and B of a note are the new and the old rate.
func signalled(t *testing.T, notes ...fabric.Note) FlowSignals {
	t.Helper()
	m := NewSignals(rack())
	m.Observe(notes)
	return m.Result()[0]
}

func event(at unit.Time) fabric.Note {
	return fabric.Note{Event: fabric.Event{Kind: fabric.EventCounted}, At: at}
}

func cnp(at unit.Time) fabric.Note {
	return fabric.Note{Event: fabric.Event{Kind: fabric.NotificationIn}, At: at}
}

func rate(at unit.Time, to, from unit.Rate) fabric.Note {
	return fabric.Note{Event: fabric.NewRateChanged(to, from), At: at}
}

// RTTX-59: a flow meets congestion at its first event at a switch.
func TestFirstEvent(t *testing.T) {
	const us = unit.Microsecond
	if f := signalled(t, rate(5*us, 9, 10), event(20*us), event(10*us)); f.Event != 10*us {
		t.Errorf("event %s", f.Event)
	}
	if f := signalled(t, rate(5*us, 9, 10)); f.Event != unit.Never {
		t.Errorf("without one: event %s", f.Event)
	}
	// Marks before Since have another cause.
	m := NewSignals(rack())
	m.Since = 15 * us
	m.Observe([]fabric.Note{event(10 * us), rate(12*us, 8, 9), event(15 * us), event(20 * us), rate(25*us, 7, 8)})
	if f := m.Result()[0]; f.Event != 15*us {
		t.Errorf("since 15us: event %s", f.Event)
	}
	// A mark on the wire is an event just as a counted one.
	if f := signalled(t, fabric.Note{Event: fabric.Event{Kind: fabric.Marked}, At: us}, rate(2*us, 1, 2)); f.Event != us {
		t.Errorf("event %s", f.Event)
	}
}

// RTTX-60: the two signals disagree if a CNP cuts a rate that the RTT has just raised,
// or if the RTT cuts without a CNP nearby. A phase is cut twice if both cut within an
// RTT, in either order.
func TestConflictsOfTwoSignals(t *testing.T) {
	rtt := NewSignals(rack()).flows[0].BaseRTT
	at := func(n unit.Time) unit.Time { return n * 10 * rtt }
	for name, c := range map[string]struct {
		notes []fabric.Note
		want  FlowSignals
	}{
		"CNP against a raise": {[]fabric.Note{rate(at(1)-rtt, 11, 10), cnp(at(1)), rate(at(1), 5, 11)}, FlowSignals{CNPCuts: 1, Against: 1}},
		"a raise long ago":    {[]fabric.Note{rate(at(1)-rtt-1, 11, 10), cnp(at(1)), rate(at(1), 5, 11)}, FlowSignals{CNPCuts: 1}},
		"RTT alone":           {[]fabric.Note{rate(at(1), 5, 11), cnp(at(1) + rtt + 1)}, FlowSignals{RTTCuts: 1, Alone: 1}},
		"RTT before its CNP":  {[]fabric.Note{rate(at(1), 5, 11), cnp(at(1) + rtt), rate(at(1)+rtt, 3, 5)}, FlowSignals{RTTCuts: 1, CNPCuts: 1, Twice: 1}},
		"RTT after its CNP":   {[]fabric.Note{cnp(at(1)), rate(at(1), 5, 9), rate(at(1)+rtt, 4, 5)}, FlowSignals{RTTCuts: 1, CNPCuts: 1, Twice: 1}},
		"one phase, then another": {[]fabric.Note{
			cnp(at(1)), rate(at(1), 8, 9), rate(at(1)+1, 7, 8), rate(at(1)+2, 6, 7), cnp(at(2)), rate(at(2), 5, 6),
		}, FlowSignals{RTTCuts: 2, CNPCuts: 2, Twice: 1}},
		"the RTT again and again": {[]fabric.Note{rate(at(1), 8, 9), rate(at(1)+1, 7, 8)}, FlowSignals{RTTCuts: 2, Alone: 2}},
	} {
		got := signalled(t, c.notes...)
		c.want.Flow, c.want.BaseRTT, c.want.Event, c.want.Steps = got.Flow, rtt, unit.Never, got.Steps
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Nodes are observed one after the other, not in time order.
func TestSignalsDoNotDependOnTheOrderOfNodes(t *testing.T) {
	m := NewSignals(rack())
	m.Observe([]fabric.Note{rate(5, 9, 10), event(30)})
	m.Observe([]fabric.Note{event(10)})
	m.Observe([]fabric.Note{{Event: fabric.Event{Kind: fabric.PauseSent}, Flow: fabric.NoFlow}})
	if f := m.Result()[0]; f.Event != 10 || f.RTTCuts != 1 {
		t.Errorf("event at %d ps and %d cuts, want 10 and 1", f.Event, f.RTTCuts)
	}
}

// RTTX-12: the result counts the frames for which a converter's flow table had no room.
func TestResultCountsUntrackedFrames(t *testing.T) {
	run := merged(t, rack(), map[int][]fabric.Note{3: {note(us, fabric.Untracked, 0, 0, 0), note(2*us, fabric.Untracked, 1, 1, 0)}})
	if run.Untracked != 2 {
		t.Errorf("%d frames, want 2", run.Untracked)
	}
}

// RTTX-59: congestion affects a sender when the sender is slower than it would be
// without congestion.
func TestFirstBelow(t *testing.T) {
	steps := func(values ...int64) (steps []RateStep) {
		for i := 0; i < len(values); i += 2 {
			steps = append(steps, RateStep{unit.Time(values[i]), unit.Rate(values[i+1])})
		}
		return steps
	}
	for name, c := range map[string]struct {
		with, without []RateStep
		want          unit.Time
	}{
		"both do the same":     {steps(5, 9, 7, 8), steps(5, 9, 7, 8), unit.Never},
		"a cut of its own":     {steps(5, 9, 7, 8), steps(5, 9), 7},
		"a rise that is not":   {steps(5, 9), steps(5, 9, 6, 10), 6},
		"the same cut, later":  {steps(5, 9, 8, 7), steps(5, 9, 6, 7), unit.Never},
		"the same cut, sooner": {steps(5, 9, 6, 7), steps(5, 9, 8, 7), 6},
		"steps at one instant": {steps(5, 7, 5, 9), steps(5, 9), unit.Never},
		"never a step":         {nil, nil, unit.Never},
	} {
		if got := FirstBelow(c.with, c.without); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if f := signalled(t, rate(5, 9, 10), rate(6, 8, 9)); len(f.Steps) != 2 || f.Steps[1] != (RateStep{6, 8}) {
		t.Errorf("steps %v", f.Steps)
	}
}
