package scenariofile

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// growing is a rack to which a test makes changes.
const growing = `
name: changed
duration: 3ms
scheme: dcqcn
nics: {h0..h3: , r0: }
switches: {s0: }
links: [{endpoints: ["h0..h3, r0", s0], rate: 40Gbps, delay: 1us}]
flows: [{name: F0, from: h0, to: r0, size: endless}]
bursts: [{name: first, from: h1..h2, to: r0, flows_per_sender: 2, size: 1KB, at: 1us}]
changes:
  - {at: 10us, burst: {name: own, from: h0..h1, to: r0, flows_per_sender: 3, size: 2KB}}
`

// burstAt returns a burst as a change.
func burstAt(at unit.Time, name string, flows int, from ...string) topology.Change {
	return topology.Change{At: at, Verb: topology.ChangeBurst, Burst: topology.BurstSpec{
		Name: name, From: from, To: "r0", Flows: flows, Size: 4000, Class: topology.DataClass,
	}}
}

// A folded scenario has the same flows, bursts and changes as one that lists all flows, and the same
// journal.
func TestFoldedScenarioHasTheSameFlows(t *testing.T) {
	whole, err := Parse("changed.yaml", []byte(growing))
	if err != nil {
		t.Fatal(err)
	}
	folded := whole.Fold()
	var journal Journal
	for i, c := range []topology.Change{
		burstAt(20*unit.Microsecond, "a", 4, "h0", "h1", "h2"), burstAt(30*unit.Microsecond, "b", 4, "h0", "h1", "h2"),
		burstAt(25*unit.Microsecond, "c", 1, "h3"),
		{At: 40 * unit.Microsecond, Verb: topology.ChangeStopFlow, Flow: "b"},
		{At: 50 * unit.Microsecond, Verb: topology.ChangeLinkDown, Link: "h0--s0"},
		burstAt(60*unit.Microsecond, "a1", 2, "h1", "h0"),
	} {
		if whole, err = Extend(whole, c); err != nil {
			t.Fatal(err)
		}
		if folded, err = Append(folded, c); err != nil {
			t.Fatal(err)
		}
		sameFlows(t, whole, folded)
		want, err := Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := journal.Text(folded, whole.Duration, whole.Bin)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("after change %d, the journal differs (-want +got):\n%s", i, d)
		}
	}
	if n := len(folded.Flows); n != 5 {
		t.Errorf("a folded scenario lists %d flows, want the 5 of the start", n)
	}
	if a, b := folded.Changes[1].Burst.From, folded.Changes[2].Burst.From; &a[0] != &b[0] {
		t.Error("equal bursts have senders of their own")
	}
}

// sameFlows compares what a scenario and its folded form say about flows.
func sameFlows(t *testing.T, whole, folded *topology.Scenario) {
	t.Helper()
	if folded.FlowCount() != len(whole.Flows) {
		t.Fatalf("%d flows, want %d", folded.FlowCount(), len(whole.Flows))
	}
	for i := range whole.Flows {
		if d := cmp.Diff(whole.Flow(i), folded.Flow(i)); d != "" {
			t.Fatalf("flow %d (-want +got):\n%s", i, d)
		}
		if want, got := whole.Series(i), folded.Series(i); want != got {
			t.Errorf("series of flow %d: %s, want %s", i, got, want)
		}
	}
	for _, name := range []string{"F0", "first", "first/h1/1", "own", "own/h1/2", "a", "a/h2/3", "a1/h0/1", "b", "b/h0/9", "none"} {
		if want, got := whole.FlowsNamed(name), folded.FlowsNamed(name); !slices.Equal(want, got) {
			t.Errorf("flows named %s: %v, want %v", name, got, want)
		}
		matches := func(n string) bool { return n == name }
		if want, got := whole.FlowsMatching(matches), folded.FlowsMatching(matches); !slices.Equal(want, got) {
			t.Errorf("flows that match %s: %v, want %v", name, got, want)
		}
	}
	if d := cmp.Diff(whole.Bursts, folded.Bursts); d != "" {
		t.Errorf("bursts (-want +got):\n%s", d)
	}
	if d := cmp.Diff(whole.Changes, folded.Changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
}

// A change that was not made is not in the journal, although its text was.
func TestJournalWithoutAChange(t *testing.T) {
	whole, err := Parse("changed.yaml", []byte(growing))
	if err != nil {
		t.Fatal(err)
	}
	var journal Journal
	for _, name := range []string{"undone", "done"} {
		folded, err := Append(whole.Fold(), burstAt(20*unit.Microsecond, name, 1, "h0"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := journal.Text(folded, whole.Duration, whole.Bin)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("journal.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		if len(back.Changes) != 2 || back.Changes[1].Burst.Name != name {
			t.Errorf("%s: changes %+v", name, back.Changes)
		}
		journal.Undo(len(whole.Changes))
	}
}

// The series of a live run are bounded.
func TestSeriesAreBounded(t *testing.T) {
	whole, err := Parse("changed.yaml", []byte(growing))
	if err != nil {
		t.Fatal(err)
	}
	s, names := whole.Fold(), map[string]bool{}
	for i := range 2 * topology.MostSeries {
		if s, err = Append(s, burstAt(20*unit.Microsecond, fmt.Sprint("x", i), 2, "h0")); err != nil {
			t.Fatal(err)
		}
	}
	for i := range s.FlowCount() {
		names[s.Series(i)] = true
	}
	if want := topology.MostSeries + 3; len(names) != want || !names[topology.Overflow] || !names["own"] { // F0, first, overflow
		t.Errorf("%d series, want %d, with %s", len(names), want, topology.Overflow)
	}
}
