package scenariofile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

const changed = sample + `changes:
  - {at: 300us, burst: {name: late, from: h0..h1, to: r0, flows_per_sender: 2, size: 8KB}}
  - {at: 200us, link_down: s0--s1}
  - {at: 250us, link_up: s1--s0}
  - {at: 200us, set: s0.xoff=96KB}
  - {at: 210us, set: s0..s1.xon_offset=90KB}
  - {at: 400us, stop_flow: late}
  - {at: 400us, stop_flow: F0}
  - {at: 100us, freeze: h0..h1}
  - {at: 150us, thaw: [h0, h1]}
  - {at: 500us, burst: {name: later, from: h2, to: r0, size: endless}}
`

func TestChangesOfAFile(t *testing.T) {
	s := parsed(t, changed)
	same(t, s)
	if len(s.Flows) != 1+3+4+1 || s.InitialFlows() != 4 {
		t.Fatalf("%d flows, %d of them from the start", len(s.Flows), s.InitialFlows())
	}
	var names []string
	for _, f := range s.Flows[4:] {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "late/h0/0 late/h0/1 late/h1/0 late/h1/1 later/h2/0" {
		t.Errorf("flows of changes: %s", got)
	}
	var order []topology.ChangeVerb
	for _, c := range s.OrderedChanges() {
		order = append(order, c.Verb)
	}
	want := []topology.ChangeVerb{
		topology.ChangeFreeze, topology.ChangeThaw, topology.ChangeLinkDown, topology.ChangeSet, topology.ChangeSet, topology.ChangeLinkUp, topology.ChangeBurst, topology.ChangeStopFlow, topology.ChangeStopFlow, topology.ChangeBurst,
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	if i := s.LinkNamed("s1--s0"); i < 0 || i != s.LinkNamed("s0--s1") || s.LinkNamed("h0--h1") >= 0 {
		t.Error("LinkNamed")
	}
}

// Every kind of invalid entry in changes is reported at its key.
func TestFaultsOfChanges(t *testing.T) {
	for _, c := range []struct{ entry, key, what string }{
		{`{at: 1us}`, "changes[0]", "has 0 verbs"},
		{`{at: 1us, freeze: h0, thaw: h0}`, "changes[0]", "has 2 verbs"},
		{`{freeze: h0}`, "changes[0].at", "is missing"},
		{`{at: 1ms, freeze: h0}`, "changes[0].at", "not before the end"},
		{`{at: 1us, freeze: s0}`, "changes[0].freeze", "is a switch"},
		{`{at: 1us, freeze: h9}`, "changes[0].freeze", "unknown node h9, want one of h0, "},
		{`{at: 1us, link_down: h0--h1}`, "changes[0].link_down", "unknown link"},
		{`{at: 1us, stop_flow: F9}`, "changes[0].stop_flow", "unknown flow or burst"},
		{`{at: 1us, set: s0.xoff}`, "changes[0].set", "want NODE.KEY=VALUE"},
		{`{at: 1us, set: s0.buffer=1MB}`, "changes[0].set", "cannot change while the rack runs"},
		{`{at: 1us, set: h0.xoff=1KB}`, "changes[0].set", "unknown setting \"xoff\", want one of"},
		{`{at: 1us, set: s9.xoff=1KB}`, "changes[0].set", "unknown node"},
		{`{at: 1us, set: s0.xoff=1}`, "changes[0].set", "has no unit"},
		{`{at: 1us, set: s0.xoff=1KB}`, "changes[0].set.xon_offset", "is not below xoff"},
		{`{at: 1us, set: duration=1ms}`, "changes[0].set", "is neither a name"},
		{`{at: 1us, burst: {name: burst, from: h1, to: r0, size: 1KB}}`, "changes[0].burst.name", "already the name"},
		{`{at: 1us, burst: {name: b, from: h1, to: h1, size: 1KB}}`, "changes[0].burst.to", "send to itself"},
		{`{at: 1us, burst: {name: b, from: h1, to: s0, size: 1KB}}`, "changes[0].burst.to", "is a switch"},
		{`{at: 1us, burst: {name: b, from: h1, to: r0, size: -1B}}`, "changes[0].burst.size", "-1B"},
		{`{at: 1us, burst: {name: b, from: h1, to: r0}}`, "changes[0].burst.size", "is missing"},
		{`{at: 1us, burst: {name: b, from: h1, to: h1}}`, "changes[0].burst.size", "is missing"}, // and no more
		{"{at: 9us, burst: {name: b, from: h1, to: r0, size: 1KB}}\n  - {at: 8us, stop_flow: b}", "changes[1].stop_flow", "begins at"},
		{"{at: 9us, set: s0.xoff=3.5KB}\n  - {at: 8us, set: s0.xon_offset=4KB}", "changes[0].set.xon_offset", "is not below xoff"},
	} {
		_, err := Parse("c.yaml", []byte(sample+"changes:\n  - "+c.entry+"\n"))
		var faults *Faults
		if !errors.As(err, &faults) {
			t.Errorf("%s: taken", c.entry)
			continue
		}
		if len(faults.List) != 1 || faults.List[0].Key != c.key || !strings.Contains(faults.List[0].What, c.what) {
			t.Errorf("%s: got %v, want %s at %s", c.entry, err, c.what, c.key)
		}
	}
}

// A fault of one change hides none of the next.
func TestEveryChangeIsChecked(t *testing.T) {
	_, err := Parse("c.yaml", []byte(sample+"changes:\n  - {freeze: h0}\n  - {at: 1us, link_down: h0--h1}\n"))
	var faults *Faults
	if !errors.As(err, &faults) || len(faults.List) != 2 || faults.List[1].Key != "changes[1].link_down" {
		t.Errorf("got %v, want the faults of both changes", err)
	}
}

// Changes added one by one give the same scenario as a file with all of them, in any
// order of their instants.
func TestExtendIsParseOneByOne(t *testing.T) {
	whole := parsed(t, changed)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(whole.Changes)).Draw(t, "from")
		text, _, _ := strings.Cut(changed, "changes:")
		lines := strings.SplitAfter(changed[len(text):], "\n")
		if from > 0 {
			text += strings.Join(lines[:1+from], "")
		}
		s, err := Parse("part.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range whole.Changes[from:] {
			if _, err := Extend(s, topology.Change{At: c.At, Verb: topology.ChangeLinkDown, Link: "r0--h0"}); err == nil {
				t.Fatal("took a link that there is not")
			}
			if s, err = Extend(s, c); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(whole, s); diff != "" {
			t.Fatal(diff)
		}
	})
}

// tuned returns the settings that a change of the scenario sets.
func tuned(s *topology.Scenario, change int) []Tuning {
	st := StateBefore(s, s.Changes[change].At)
	st.Apply(&s.Changes[change])
	return st.Tunings
}

func tuning(node int, c fabric.Change) Tuning {
	c.Verb = fabric.Tune
	return Tuning{node, c}
}

// A journal may end before changes that were still to come.
func TestLiveScenarioMayEndBeforeItsFlows(t *testing.T) {
	s := parsed(t, strings.Replace(changed, "duration: 1ms", "duration: 20us\nlive: true", 1))
	same(t, s)
	if !s.Live || s.Duration != 20*unit.Microsecond {
		t.Errorf("live %v, duration %s", s.Live, s.Duration)
	}
}

// Without a link, the routes avoid it, or are empty.
func TestRoutesWithoutALink(t *testing.T) {
	s := parsed(t, sample)
	s0, r0 := len(s.Nodes)-2, len(s.Nodes)-3 // h0..h3, r0, s0, s1
	if len(routes.New(s, s.PortMap()).Ports(s0, r0)) != 1 {
		t.Fatal("no route from s0 to r0")
	}
	cut := routes.Without(s, map[int]bool{s.LinkNamed("s0--s1"): true})
	if len(cut.Ports(s0, r0)) != 0 || len(cut.Ports(s0, 0)) != 1 {
		t.Errorf("with s0--s1 cut: %v", cut.By(s0))
	}
}
