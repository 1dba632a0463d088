package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// burstRun is a run of the paper's rack with a burst from 1 to 3 ms: F0 has 20 Gbit/s before
// and another goodput in the burst, and F1, whose receiver is that of the burst, loses everything.
func burstRun(scheme string, in int64) *measure.Run {
	const bin = 100 * us
	rate := func(gigabits int64) int64 { return gigabits * 100_000 / 8 } // bytes per bin
	flow := func(a, b int64) []int64 {
		return slices.Concat(slices.Repeat([]int64{rate(a)}, 10), slices.Repeat([]int64{rate(b)}, 30))
	}
	return &measure.Run{
		Scheme: scheme, FabricTime: 4 * ms, Bin: bin,
		Flows: []measure.Flow{{Name: "F0", BurstGoodput: unit.Rate(in) * 1e9, End: 4 * ms}, {Name: "F1", End: 4 * ms}},
		Burst: measure.Burst{Flows: 2, Completed: 2, Start: ms, End: 3 * ms},
		Series: &measure.RunSeries{Bin: bin, Goodput: []measure.Series{
			{Name: "F0", Bins: flow(20, in)}, {Name: "F1", Flow: 1, Bins: flow(20, 0)}, {Name: "F0", Flow: -1, Bins: flow(9, 9)},
		}},
	}
}

// findings returns the sentence of one run of the paper's rack.
func findings(t *testing.T, run *measure.Run) string {
	t.Helper()
	return Findings(sample(t, "out").Scenario, []Variant{{Value: run.Scheme, Run: run}})[0]
}

// The sentence names the victim, its goodput before and in the burst, and what held it back.
func TestFindingOfAVictim(t *testing.T) {
	fell := burstRun("pfc", 3)
	fell.Recovery, fell.Drops = 1900*us, 7
	fell.Pauses = []measure.Pause{
		{Link: "s0->h0", XOFF: 1, Paused: 1500 * us}, {Link: "s1->s0", XOFF: 32, Paused: 1234 * us}, {Link: "s0->h1", XOFF: 99, Paused: ms},
	}
	for _, p := range fell.Pauses {
		fell.Series.Pauses = append(fell.Series.Pauses, measure.PauseSeries{Link: p.Link, Bins: append(make([]int64, 15), p.XOFF)})
	}
	want := "pfc: F0 fell from 20.0 to 3.00 Gbit/s in the burst, because s1 paused s0 for 1.23 ms (32 PAUSE frames) and s0 paused h0 for 1.50 ms (1 PAUSE frame); " +
		"the long flows recovered 1.90 ms after the burst began; 7 frames were dropped."
	if got := findings(t, fell); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	fell.Pauses[1].XOFF++ // one more PAUSE frame, before the burst
	if got := findings(t, fell); !strings.Contains(got, "because s1 sent s0 32 PAUSE frames and") {
		t.Errorf("a PAUSE before the burst counts: %s", got)
	}
	fell.Series.Pauses = nil
	if got := findings(t, fell); !strings.Contains(got, "in the burst, although nothing paused its path;") {
		t.Error(got)
	}
	fell.Series.Rates = []measure.RateSeries{{Name: "F0", Bins: slices.Concat(slices.Repeat([]unit.Rate{90e9}, 10), slices.Repeat([]unit.Rate{4e9}, 30))}}
	if got := findings(t, fell); !strings.Contains(got, "in the burst, because pfc limited it to 4.00 Gbit/s on average;") {
		t.Error(got)
	}
	fell.Recovery = 2500 * us
	if got := findings(t, fell); !strings.Contains(got, "; the long flows had been back for less than 1 ms when the run ended;") {
		t.Error(got)
	}
	fell.Recovery, fell.Loss = 3*ms, 3*ms
	if got := findings(t, fell); !strings.Contains(got, "; the long flows had not recovered when the run ended;") {
		t.Error(got)
	}
	for in, want := range map[int64]string{
		32: "F0 rose from 20.0 to 32.0 Gbit/s in the burst, and nothing paused its path.",
		21: "F0 kept its goodput in the burst, 20.0 Gbit/s before and 21.0 in it, and nothing paused its path.",
	} {
		if got := findings(t, burstRun("pcn", in)); got != "pcn: "+want {
			t.Error(got)
		}
	}
}

// A flow that ends before the bursts do, or begins after them, is no victim.
func TestVictimRunsThroughoutTheBursts(t *testing.T) {
	for _, f := range []measure.Flow{{Start: 0, End: 2 * ms}, {Start: 2 * ms, End: 4 * ms}, {Start: 3 * ms, End: 4 * ms}} {
		run := burstRun("pfc", 3)
		for i := range run.Flows {
			run.Flows[i].Start, run.Flows[i].End = f.Start, f.End
		}
		if got := findings(t, run); !strings.HasPrefix(got, "pfc: 2/2 flows of the burst are done") {
			t.Errorf("a flow from %s to %s: %s", f.Start, f.End, got)
		}
	}
}

// Over variants the sentence says in how many of them the flows had not recovered.
func TestRecoveryOfVariants(t *testing.T) {
	for _, test := range []struct {
		recoveries [3]unit.Time
		want       string
	}{
		{[3]unit.Time{}, ""},
		{[3]unit.Time{0, ms, 2 * ms}, "the long flows recovered 1.00 (0.00 to 2.00) ms after the burst began"},
		{[3]unit.Time{ms, ms, 3 * ms}, "the long flows recovered 1.00 ms after the burst began in 2 of 3 variants, and had not recovered in 1 when the run ended"},
		{[3]unit.Time{3 * ms, 3 * ms, 3 * ms}, "the long flows had not recovered when the run ended"},
	} {
		v := Variant{Repeated: &measure.Repeated{}}
		for _, recovery := range test.recoveries {
			run := burstRun("pfc", 3)
			run.Recovery, run.Loss = recovery, recovery
			v.Repeated.Runs = append(v.Repeated.Runs, run)
		}
		if v.Run = v.Repeated.Runs[0]; recoveryClause(&v) != test.want {
			t.Errorf("%s\nwant\n%s", recoveryClause(&v), test.want)
		}
	}
}

// All sentences are on one flow: the one that lost the most under any scheme.
func TestFindingsAreOnOneFlow(t *testing.T) {
	s, err := scenariofile.Parse("two", []byte("name: two\nduration: 4ms\nscheme: pfc\ndefaults: {link: {rate: 40Gbps, delay: 1us}}\n"+
		"nics: {h0..h5: }\nswitches: {s0: }\nlinks: [{endpoints: [h0..h5, s0]}]\n"+
		"flows: [{name: F0, from: h0, to: h2, size: endless}, {name: F1, from: h1, to: h3, size: endless}]\nbursts: [{name: b, at: 1ms, from: h0..h1, to: h4, size: 64KB}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	runs := []Variant{{Value: "a", Run: burstRun("a", 15)}, {Value: "b", Run: burstRun("b", 16)}}
	got := Findings(s, runs)
	want := []string{
		"a: F1 fell from 20.0 to 0.00 Gbit/s in the burst, although nothing paused its path; 2 of 2 such flows lost more than 10 %.",
		"b: F1 fell from 20.0 to 0.00 Gbit/s in the burst, although nothing paused its path; 2 of 2 such flows lost more than 10 %.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := measureBlocked(s); got != "s0->h0 h2->s0" {
		t.Errorf("F0 is blocked on %s", got)
	}
}

// Over variants a sentence has medians and ranges.
func TestFindingOfVariants(t *testing.T) {
	one := &measure.Repeated{Scheme: "pfc"}
	for i, frames := range []int64{30, 34, 32} {
		run := burstRun("pfc", int64(i+3))
		run.Pauses, run.Series, run.Recovery = []measure.Pause{{Link: "s1->s0", XOFF: frames}}, nil, unit.Time(i+1)*100*us
		one.Runs = append(one.Runs, run)
	}
	got := Findings(sample(t, "out").Scenario, []Variant{{Value: "pfc", Run: burstRun("pfc", 3), Repeated: one}})
	want := "pfc: F0 had 4.00 (3.00 to 5.00) Gbit/s in the burst, while s1 sent s0 32 (30 to 34) PAUSE frames; the long flows recovered 0.20 (0.10 to 0.30) ms after the burst began."
	if got[0] != want {
		t.Errorf("%s\nwant\n%s", got[0], want)
	}
}

// Without a burst and single flows, the sentence has the main figures of what there is.
func TestFindingWithoutAVictim(t *testing.T) {
	many := manyFlows(t)
	if got, want := Findings(many.Scenario, Variants(many.Results))[0], "pfc: 12 flows have a goodput of 0.00 to 6.00 Gbit/s, the median is 3.00; 66 PAUSE frames, 6 drops."; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	waiting := sample(t, "out", "pcn")
	for i := range waiting.Results.Runs[0].Flows {
		waiting.Results.Runs[0].Flows[i].Start = ms
	}
	if got := Findings(waiting.Scenario, Variants(waiting.Results))[0]; !strings.Contains(got, "goodput of F0 11.00, F1 12.00 Gbit/s") || strings.Contains(got, " in the burst") {
		t.Errorf("flows that wait: %s", got)
	}
	few := sample(t, "out", "pcn")
	few.Results.Runs[0].Burst = measure.Burst{}
	if got, want := Findings(few.Scenario, Variants(few.Results))[0], "pcn: goodput of F0 11.00, F1 12.00 Gbit/s; 1110 PAUSE frames, 6 drops."; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	few.Results.Runs[0].Burst = measure.Burst{Flows: 3}
	few.Scenario.Commands = []topology.Command{{Name: "get"}}
	few.Results.Runs[0].Commands = []measure.Commands{{Commands: 4, Goodput: 1e9}}
	for i := range few.Results.Runs[0].Flows {
		few.Results.Runs[0].Flows[i].Start = ms
	}
	if got := Findings(few.Scenario, Variants(few.Results))[0]; !strings.HasPrefix(got, "pcn: 0/3 flows of the burst are done; get completed 0/4 commands, at 1.00 Gbit/s; ") {
		t.Errorf("nothing is done: %s", got)
	}
	few.Results.Runs[0].Failure = &measure.Outage{At: 500 * us, Before: 30e9, Least: 2e9, Recovery: 250 * us}
	if got := Findings(few.Scenario, Variants(few.Results))[0]; !strings.Contains(got, "; the rack's goodput fell from 30.00 to 2.00 Gbit/s after a link failed, and recovered after 0.25 ms;") {
		t.Error(got)
	}
	loaded := leafSpine(t)
	loaded.Results.Runs[0].Workloads[0].All = measure.SizeClass{Flows: 13, Completed: 11}
	want := "pcn: 11/13 flows of traffic are done, 99 % of the short ones that are done within 3.50 times the time alone, " +
		"99 % of the long ones that are done within 6.50 times the time alone; 13 PAUSE frames, 7 drops."
	if got := Findings(loaded.Scenario, Variants(loaded.Results))[0]; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	loaded.Results.Runs[0].Workloads[0].Long.Completed = 4
	if got := Findings(loaded.Scenario, Variants(loaded.Results))[0]; !strings.Contains(got, "99 % of the long ones within 6.50") {
		t.Errorf("all long ones are done: %s", got)
	}
	// The number of flows varies too.
	more := *loaded.Results.Runs[0]
	more.Workloads = slices.Clone(more.Workloads)
	more.Workloads[0].All = measure.SizeClass{Flows: 10, Completed: 9}
	v := variantOf(loaded.Results.Runs[0], &more)
	if got := workloadClause(v, "traffic", measure.Catalogue(loaded.Scenario).Workloads[0]); !strings.HasPrefix(got, "9/10 (9/10 to 11/13) flows of traffic are done, ") {
		t.Error(got)
	}
}

// Frames that links lost or damaged are no drops, and follow these.
func TestFindingOfLosses(t *testing.T) {
	pauses := []measure.Pause{{Link: "a->b", XOFF: 1}}
	for _, c := range []struct {
		name   string
		victim bool
		runs   []*measure.Run
		want   string
	}{
		{"nothing", false, []*measure.Run{{}}, "0 PAUSE frames, 0 drops"},
		{"nothing beside a victim", true, []*measure.Run{{}}, ""},
		{"one of each", false, []*measure.Run{{Pauses: pauses, Drops: 1, LinkLost: 1, LinkDamaged: 1}}, "1 PAUSE frame, 1 drop, 1 frame lost on links, 1 frame damaged on links"},
		{"lost", false, []*measure.Run{{LinkLost: 133}}, "0 PAUSE frames, 0 drops, 133 frames lost on links"},
		{"lost beside a victim", true, []*measure.Run{{LinkLost: 133, Drops: 7}}, "7 frames were dropped, 133 frames lost on links"},
		{"damaged beside a victim", true, []*measure.Run{{LinkDamaged: 2}}, "2 frames damaged on links"},
		{"some variants", true, []*measure.Run{{}, {LinkLost: 4, Drops: 2}}, "0 (0 to 2) frames were dropped, 0 (0 to 4) frames lost on links"},
	} {
		if got := lossClause(variantOf(c.runs...), c.victim); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// PCN-63: A deadlock is in the sentence, in a column and in a note of the table, which names the cycle.
func TestFindingOfADeadlock(t *testing.T) {
	s := &topology.Scenario{Name: "ring", Duration: 1}
	run := &measure.Run{Deadlocks: []measure.Deadlock{{Class: 3, Links: []string{"a->b", "b->a"}, Since: 94_350_000}}}
	if got, want := deadlockClause(variantOf(run)), "a PFC deadlock keeps 2 links paused in a cycle"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := deadlockClause(variantOf(&measure.Run{})); got != "" {
		t.Error(got)
	}
	table := VariantsOf("", "scheme", s, []Variant{{Value: "pfc", Run: run}})
	if want := "pfc: PFC deadlock: a->b, b->a in class 3, since 0.09435 ms"; !slices.Contains(table.Notes, want) {
		t.Errorf("%q, want %s", table.Notes, want)
	}
	if !slices.ContainsFunc(table.Columns, func(c Column) bool { return c.Group == "PFC deadlock" }) {
		t.Errorf("columns %v", table.Columns)
	}
}

// measureBlocked returns the links on which a PAUSE blocks the first flow.
func measureBlocked(s *topology.Scenario) string {
	v := victimOf(s, []Variant{{Run: burstRun("a", -1)}})
	slices.Reverse(v.pauses)
	return strings.Trim(fmt.Sprint(v.pauses), "[]")
}
