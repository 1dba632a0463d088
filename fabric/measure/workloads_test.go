package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// loaded is the rack with a workload instead of its burst: three short and two long
// flows from b0.
func loaded() *topology.Scenario {
	s := rack()
	s.Bursts = []topology.Burst{{Name: "w", Flows: 5, At: 10 * us, Workload: true}}
	s.Workloads = []topology.Workload{{Name: "w", From: []int{1}, To: []int{2}}}
	s.Flows = s.Flows[:1]
	for _, size := range []unit.Bytes{1000, 1000, 100_000, 100_001, 200_000} {
		s.Flows = append(s.Flows, topology.Flow{Name: "w/b0", From: 1, To: 2, Size: size, Start: 10 * us})
	}
	return s
}

// The HPCC simulator's formula: 20 us round-trip propagation, a payload of 0.2 us on
// each of two links, and the bytes with the headers of their packets at 40 Gbit/s. The
// headers are 62 bytes and once a RETH of 16, 8 more with timestamps, 106 in UET. Under hpcc each
// packet has 28 bytes of telemetry behind the only switch.
func TestStandaloneFCT(t *testing.T) {
	for scheme, want := range map[string]map[unit.Bytes]unit.Time{
		"pfc":    {1000: 20_615_600, 100_000: 41_643_200, 1: 20_415_800},
		"timely": {1000: 20_617_200, 100_000: 41_803_200, 1: 20_417_400},
		"hpcc":   {1000: 20_621_200, 100_000: 42_203_200, 1: 20_421_400},
		"cbrc":   {1000: 20_621_200, 100_000: 42_520_000, 1: 20_421_400},
	} {
		s := loaded()
		s.Scheme = scheme
		alone := NewStandalone(s)
		for size, want := range want {
			if got := alone.FCT(s.Flows[1], size); got != want {
				t.Errorf("%s, %s: %s, want %s", scheme, size, got, want)
			}
		}
	}
}

// The mean of many long times is exact, even if their sum exceeds 63 bits.
func TestMeanCompletionTimeDoesNotOverflow(t *testing.T) {
	var c sizeClass
	for i := range 20_000 {
		c.add(1, topology.LongestRun+unit.Time(i%2), 1, true)
	}
	c.add(1, topology.LongestRun, 1, true)
	if got := c.sum().Mean; got != topology.LongestRun {
		t.Errorf("mean %s, want %s", got, topology.LongestRun)
	}
}

func TestWorkloadFlowsAreSummedBySize(t *testing.T) {
	s := loaded()
	alone := NewStandalone(s)
	var notes []fabric.Note
	done := func(flow fabric.FlowID, slowdown unit.Time) {
		took := slowdown * alone.FCT(s.Flows[flow], s.Flows[flow].Size)
		notes = append(notes, fabric.Note{Event: fabric.NewCompleted(0, 10*us), At: 10*us + took, Flow: flow})
	}
	done(1, 2)
	done(3, 3)
	done(4, 6)
	notes = append(notes, fabric.Note{Event: fabric.NewCompleted(0, 10*us), At: 11 * us, Flow: 2}) // faster than alone
	run := merged(t, s, map[int][]fabric.Note{1: notes})
	a, b, c := 2*alone.FCT(s.Flows[1], 1000), 3*alone.FCT(s.Flows[3], 100_000), 6*alone.FCT(s.Flows[4], 100_001)
	want := []Workload{{
		Name: "w",
		All: SizeClass{
			Flows: 5, Completed: 4, Bytes: 402_001, Mean: (us + a + b + c) / 4, P50: a, P95: c, P99: c,
			SlowdownMean: 3, SlowdownP50: 2, SlowdownP95: 6, SlowdownP99: 6,
		},
		Short: SizeClass{
			Flows: 3, Completed: 3, Bytes: 102_000, Mean: (us + a + b) / 3, P50: a, P95: b, P99: b,
			SlowdownMean: 2, SlowdownP50: 2, SlowdownP95: 3, SlowdownP99: 3,
		},
		Long: SizeClass{
			Flows: 2, Completed: 1, Bytes: 300_001, Mean: c, P50: c, P95: c, P99: c,
			SlowdownMean: 6, SlowdownP50: 6, SlowdownP95: 6, SlowdownP99: 6,
		},
	}}
	if diff := cmp.Diff(want, run.Workloads, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Error(diff)
	}
	// They are neither a burst nor single flows.
	if len(run.Flows) != 1 || run.Burst != (Burst{}) || run.Loss != 0 || run.Recovery != 0 {
		t.Errorf("flows %+v, burst %+v, loss %s", run.Flows, run.Burst, run.Loss)
	}
}
