package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/collective"
	"github.com/rackfab/rackfab/fabric/topology"
)

// ran returns the result of an all-reduce of 1 MB among h2, h0 and h1, whose steps have these times.
func ran(times map[int][]StepTime) Collective {
	s := &topology.Scenario{Nodes: []topology.Node{{Name: "h0"}, {Name: "h1"}, {Name: "h2"}}}
	s.Collectives = []topology.Collective{{Name: "sum", Nodes: []int{2, 0, 1}, Spec: collective.Spec{Kind: collective.AllReduce, Ranks: 3, Size: 1e6}}}
	nodes := make([]*NodeResult, 3)
	for i := range nodes {
		nodes[i] = &NodeResult{Steps: times[i]}
		s.Steps = append(s.Steps, topology.HostSteps{Node: i, Shares: []topology.Share{{Rank: (i + 1) % 3, First: 1, End: 3}}})
	}
	return collectives(s, nodes)[0]
}

// COLL-9, COLL-10: The time and the bandwidths of a collective, and its slowest rank.
func TestTimeOfCollective(t *testing.T) {
	// The steps before and after those of the collective do not count.
	got := ran(map[int][]StepTime{
		0: {{0, 9 * ms, true}, {2 * ms, 3 * ms, true}, {1 * ms, 3 * ms, true}, {9 * ms, 9 * ms, true}},
		1: {{0, 9 * ms, true}, {1 * ms, 2 * ms, true}, {1 * ms, 5 * ms, true}, {9 * ms, 9 * ms, true}},
		2: {{0, 9 * ms, true}, {3 * ms, 5 * ms, true}, {3 * ms, 4 * ms, true}, {9 * ms, 9 * ms, true}},
	})
	// 8 Mbit in 4 ms; factor 2 * 2/3; h1 and h2 end last, and h2 has the lower rank
	want := Collective{Name: "sum", Steps: 6, Done: 6, Begin: 1 * ms, Time: 4 * ms, AlgBW: 2e9, BusBW: 2666666666, Slowest: 0, SlowestHost: "h2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// COLL-10: A collective that does not end has no bandwidth.
func TestUnfinishedCollective(t *testing.T) {
	got := ran(map[int][]StepTime{1: {{}, {1 * ms, 2 * ms, true}, {}, {}}})
	want := Collective{Name: "sum", Steps: 6, Done: 1, Begin: 1 * ms, Time: 1 * ms, Slowest: 2, SlowestHost: "h1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	r := &Run{Collectives: []Collective{got}, FabricTime: 9 * ms}
	f := collectiveFigures(0, &topology.Collective{Name: "sum"})
	if text := f.Time.Text(r) + " " + f.AlgBW.Text(r) + " " + f.BusBW.Text(r) + " " + f.Slowest.Text(r); text != ">8.000 - - 2" {
		t.Errorf("figures %s", text)
	}
	r.Collectives[0].Done = 0
	if text := f.Time.Text(r) + " " + f.Slowest.Text(r); text != ">9.000 -" {
		t.Errorf("figures %s of a collective without a step that is done", text)
	}
	f = collectiveFigures(0, &topology.Collective{Name: "sum", After: []string{"step"}})
	if text := f.Time.Text(r); text != "-" {
		t.Errorf("time %s of a collective that may not have begun", text)
	}
}

// Of ranks that end at the same time the lowest is the slowest, in whatever order the hosts come.
func TestSlowestRank(t *testing.T) {
	step := []StepTime{{}, {1 * ms, 2 * ms, true}, {1 * ms, 5 * ms, true}, {}}
	if got := ran(map[int][]StepTime{0: step, 1: step}); got.Slowest != 1 || got.SlowestHost != "h0" {
		t.Errorf("%+v, want rank 1, h0, which ends with rank 2, h1", got)
	}
}

// A barrier has no bandwidth to show.
func TestFiguresOfCollectives(t *testing.T) {
	for kind, want := range map[collective.Kind]int{collective.AllReduce: 4, collective.Barrier: 2} {
		c := &topology.Collective{Name: "sum", Spec: collective.Spec{Kind: kind, Ranks: 3}}
		f := collectiveFigures(0, c)
		if n := len(f.List(c)); n != want {
			t.Errorf("%s: %d figures, want %d", kind, n, want)
		}
	}
}
