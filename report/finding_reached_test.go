package report

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/collective"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// variantOf returns the variant with these runs, of which the first is variant 0. A single run has no repetitions.
func variantOf(runs ...*measure.Run) *Variant {
	v := &Variant{Value: "pfc", Run: runs[0]}
	if len(runs) > 1 {
		v.Repeated = &measure.Repeated{Runs: runs}
	}
	return v
}

// A collective that is not done has no time. Over variants, the sentence counts those.
func TestFindingOfACollective(t *testing.T) {
	s := &topology.Scenario{Collectives: []topology.Collective{{Name: "sum", Spec: collective.Spec{Kind: collective.Broadcast}}}}
	run := func(done int, took unit.Time, rank int) *measure.Run {
		return &measure.Run{Collectives: []measure.Collective{{Name: "sum", Steps: 4, Done: done, Begin: ms, Time: took, BusBW: 8e9, Slowest: rank}}, FabricTime: 4 * ms}
	}
	late, none := run(3, 2*ms, 1), run(0, 0, 0)
	for _, c := range []struct {
		name string
		runs []*measure.Run
		want string
	}{
		{"done", []*measure.Run{run(4, 2*ms, 2)}, "sum took 2.000 ms, at a bus bandwidth of 8.00 Gbit/s; rank 2 was the slowest"},
		{"not done", []*measure.Run{late}, "sum was not done when the run ended"},
		{"nothing done", []*measure.Run{none}, "sum did not end: none of its steps is done"},
		{
			"some variants",
			[]*measure.Run{late, run(4, ms, 3), none, run(4, 2*ms, 3)},
			"sum took 1.000 (1.000 to 2.000) ms, at a bus bandwidth of 8.00 Gbit/s in 2 of 4 variants, and was not done in 2 when the run ended; rank 3 was the slowest",
		},
		{"no variant", []*measure.Run{late, none}, "sum was not done when the run ended"},
	} {
		if got := collectiveClause(variantOf(c.runs...), &s.Collectives[0], measure.Catalogue(s).Collectives[0]); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	barrier := &topology.Collective{Name: "sum", Spec: collective.Spec{Kind: collective.Barrier}}
	if got := collectiveClause(variantOf(run(4, ms, 1)), barrier, measure.Catalogue(s).Collectives[0]); got != "sum took 1.000 ms; rank 1 was the slowest" {
		t.Errorf("barrier: %s", got)
	}
}

func TestFindingOfPrograms(t *testing.T) {
	run := func(done int, end unit.Time) *measure.Run {
		return &measure.Run{Programs: &measure.Programs{Steps: 6, Done: done, End: end}, FabricTime: 4 * ms}
	}
	for _, c := range []struct {
		name string
		runs []*measure.Run
		want string
	}{
		{"done", []*measure.Run{run(6, 2*ms)}, "6/6 steps of the programs are done, the last one at 2.00 ms"},
		{"not done", []*measure.Run{run(2, ms)}, "2/6 steps of the programs were done when the run ended"},
		{
			"some variants",
			[]*measure.Run{run(6, 2*ms), run(2, ms)},
			"2/6 (2/6 to 6/6) steps of the programs are done, the last one at 2.00 ms in 1 of 2 variants, and were not all done in 1 when the run ended",
		},
	} {
		if got := programsClause(variantOf(c.runs...)); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestFindingOfAFailure(t *testing.T) {
	run := func(recovery unit.Time) *measure.Run {
		return &measure.Run{Failure: &measure.Outage{At: ms, Before: 30e9, Least: 2e9, Recovery: recovery}, FabricTime: 4 * ms}
	}
	const fell = "the rack's goodput fell from 30.00 to 2.00 Gbit/s after a link failed, and "
	for _, c := range []struct {
		name string
		runs []*measure.Run
		want string
	}{
		{"no failure", []*measure.Run{{}}, ""},
		{"no dip", []*measure.Run{run(0)}, "the rack's goodput stayed within 5 % of 30.00 Gbit/s after a link failed"},
		{"recovered", []*measure.Run{run(250 * us)}, fell + "recovered after 0.25 ms"},
		{"not recovered", []*measure.Run{run(3 * ms)}, fell + "had not recovered when the run ended"},
		{"all variants", []*measure.Run{run(ms), run(2 * ms)}, fell + "recovered after 1.00 (1.00 to 2.00) ms"},
		{
			"some variants",
			[]*measure.Run{run(3 * ms), run(600 * us), run(3 * ms)},
			fell + "recovered after 0.60 ms in 1 of 3 variants, and had not recovered in 2 when the run ended",
		},
	} {
		if got := failureClause(variantOf(c.runs...)); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// The percentile of the burst's flows that are done is exact, although it is a bound for all.
func TestFindingOfAnUnfinishedBurst(t *testing.T) {
	run := &measure.Run{Burst: measure.Burst{Flows: 16, Completed: 5, P99: 1030 * us}}
	if got, want := mostWithin(variantOf(run), measure.BurstP99), ", 99 % of those within 1.03 ms"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
