package lab_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// paper returns the scenario of the PCN paper under a scheme, shortened to the burst.
func paper(t testing.TB, scheme string) *topology.Scenario {
	s := wholePaper(t, scheme)
	s.Duration = 20 * unit.Millisecond
	return s
}

// wholePaper returns the scenario of the PCN paper under a scheme.
func wholePaper(t testing.TB, scheme string) *topology.Scenario {
	t.Helper()
	text, ok := scenariofile.Builtin("pcn-16to2")
	if !ok {
		t.Fatal("no scenario pcn-16to2")
	}
	s, err := scenariofile.Parse("pcn-16to2", text)
	if err != nil {
		t.Fatal(err)
	}
	s.Scheme = scheme
	return s
}

func nodeNamed(s *topology.Scenario, name string) int {
	return slices.IndexFunc(s.Nodes, func(n topology.Node) bool { return n.Name == name })
}

func measured(t testing.TB, s *topology.Scenario) *measure.Run {
	t.Helper()
	run, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestRunsAreDeterministic(t *testing.T) {
	for _, scheme := range cc.Schemes {
		s := paper(t, scheme.Name)
		s.Duration = 2 * unit.Millisecond
		a, b := measured(t, s), measured(t, s)
		if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(measure.Series{}, measure.RateSeries{})); diff != "" {
			t.Errorf("%s: two runs differ:\n%s", scheme.Name, diff)
		}
	}
}

// The width of the lab's windows does not affect the run.
func TestStepsDoNotChangeTheDigest(t *testing.T) {
	s := paper(t, "pcn")
	s.Duration = 1 * unit.Millisecond
	whole := measured(t, s)
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.PerFrame = true
	for l.Now() < s.Duration {
		l.Run(min(s.Duration, l.Now()+777*unit.Nanosecond))
	}
	stepped, err := measure.Merge(s, l.Results())
	if err != nil {
		t.Fatal(err)
	}
	if whole.Digest != stepped.Digest || whole.FrameHops != stepped.FrameHops {
		t.Fatalf("digest %s after %d hops in one go, %s after %d in steps", whole.Digest, whole.FrameHops, stepped.Digest, stepped.FrameHops)
	}
}

func TestSchemesDiffer(t *testing.T) {
	digests := map[string]string{}
	for _, scheme := range cc.Schemes {
		s := paper(t, scheme.Name)
		s.Duration = 4 * unit.Millisecond
		d := measured(t, s).Digest
		if other, ok := digests[d]; ok {
			t.Errorf("%s and %s give the same run: the setting has no effect", scheme.Name, other)
		}
		digests[d] = scheme.Name
	}
}

// The paper's rack under PFC alone and under PCN.
func TestPaperRack(t *testing.T) {
	pfc, pcn := measured(t, paper(t, "pfc")), measured(t, paper(t, "pcn"))
	// PCN-5: under PFC alone the pauses spread to h0 and h1, for about 3.1 ms, and
	// F0 loses throughput though it never meets the congested port.
	if pfc.Tree < 2500*unit.Microsecond || pfc.Tree > 3700*unit.Microsecond {
		t.Errorf("pfc: tree %s, want about 3.1ms", pfc.Tree)
	}
	if !slices.ContainsFunc(pfc.Pauses, func(p measure.Pause) bool { return p.Link == "s0->h0" && p.XOFF > 0 }) {
		t.Errorf("pfc: no PAUSE reached h0: %v", pfc.Pauses)
	}
	if f0 := pfc.Flows[0]; f0.BurstGoodput > 10*unit.GigabitPerSec {
		t.Errorf("pfc: F0 gets %s in the burst, it should be a victim", f0.BurstGoodput)
	}
	// PCN-57: no pause on S0->H0 and S0->H1, no congestion tree, a few PAUSE
	// frames from S1 to S0.
	if pcn.Tree != 0 {
		t.Errorf("pcn: tree %s", pcn.Tree)
	}
	for _, p := range pcn.Pauses {
		if p.Link == "s0->h0" || p.Link == "s0->h1" || p.Link == "s1->s0" && p.XOFF > 10 {
			t.Errorf("pcn: %d PAUSE frames on %s", p.XOFF, p.Link)
		}
	}
	// PCN-54: PFC is the safety net for traffic without a rate limit: it pauses the mice.
	for i := 2; i < 16; i++ {
		link := fmt.Sprintf("s1->h%d", i)
		if !slices.ContainsFunc(pcn.Pauses, func(p measure.Pause) bool { return p.Link == link && p.XOFF > 0 }) {
			t.Errorf("pcn: no PAUSE on %s", link)
		}
	}
	// PCN-58: F0 takes the free bandwidth in the burst.
	if f0 := pcn.Flows[0]; f0.BurstGoodput < 31*unit.GigabitPerSec {
		t.Errorf("pcn: F0 gets %s in the burst", f0.BurstGoodput)
	}
	// PCN-9: F1's part of r1's link is a fifteenth, 2.5 Gbit/s of payload.
	if f1 := pcn.Flows[1]; f1.BurstGoodput < 2450*unit.MegabitPerSec || f1.BurstGoodput > 2650*unit.MegabitPerSec {
		t.Errorf("pcn: F1 gets %s in the burst, want about 2.5Gbps", f1.BurstGoodput)
	}
	for _, run := range []*measure.Run{pfc, pcn} {
		if run.Drops != 0 || run.Retransmits != 0 || run.Burst.Completed != 224 {
			t.Errorf("%s: %d drops, %d retransmitted, %d of 224 mice done", run.Scheme, run.Drops, run.Retransmits, run.Burst.Completed)
		}
	}
}

// Under QCN the paper sees a tree of 0.5 ms, and F0 slowed though it never meets
// the congested port.
func TestQCNCongestionTree(t *testing.T) {
	s := paper(t, "qcn")
	s.Duration = 10 * unit.Millisecond
	qcn := measured(t, s)
	if qcn.Tree < 250*unit.Microsecond || qcn.Tree > unit.Millisecond {
		t.Errorf("tree %s, want 0.5ms within a factor of two", qcn.Tree)
	}
	if f0 := qcn.Flows[0]; f0.BurstGoodput > 10*unit.GigabitPerSec {
		t.Errorf("F0 gets %s in the burst, it should be a victim", f0.BurstGoodput)
	}
	if qcn.Drops != 0 || qcn.Retransmits != 0 || qcn.Burst.Completed != 224 {
		t.Errorf("%d drops, %d retransmitted, %d of 224 mice done", qcn.Drops, qcn.Retransmits, qcn.Burst.Completed)
	}
}

// PCN-9: the first period that lies wholly in the burst regulates F1 to its
// part of r1's link, a fifteenth of 40 Gbit/s, on the wire. After 15 periods F0
// has risen to the rest of the bottleneck.
func TestPCNThrottlesTheCongestedFlow(t *testing.T) {
	s := paper(t, "pcn")
	run := measured(t, s)
	after := func(r measure.RateSeries, periods int) float64 {
		return float64(r.Bins[int(s.Bursts[0].At/s.Bin)+periods]) / 1e9
	}
	for _, r := range run.Series.Rates {
		if rate := after(r, 2); r.Name == "F1" && (rate < 2.4 || rate > 2.72) {
			t.Errorf("F1 is limited to %.2f Gbit/s at once, want about 2.67", rate)
		}
		if rate := after(r, 15); r.Name == "F0" && rate < 36 {
			t.Errorf("F0 is limited to %.2f Gbit/s after 15 periods, want about 37", rate)
		}
	}
}

// PCN-58: after the burst F0 and F1 share fairly, without waste.
func TestPCNSharesFairlyAfterTheBurst(t *testing.T) {
	s := paper(t, "pcn")
	run := measured(t, s)
	last := int(s.Duration / s.Bin)
	var sum [2]int64
	for _, f := range run.Series.Goodput {
		if f.Flow == 0 || f.Flow == 1 {
			for _, b := range f.Bins[last-40 : last] {
				sum[f.Flow] += b
			}
		}
	}
	jain := float64(sum[0]+sum[1]) * float64(sum[0]+sum[1]) / (2 * (float64(sum[0])*float64(sum[0]) + float64(sum[1])*float64(sum[1])))
	total := unit.Over(unit.Bytes(sum[0]+sum[1]), 40*s.Bin)
	if jain < 0.98 || total < measure.Bottleneck(s)*95/100 {
		t.Errorf("in the last two milliseconds F0 and F1 get %v bytes: fairness %.4f, together %s", sum, jain, total)
	}
}

// BenchmarkPaperRack runs pcn-16to2 with everything in; it reports frame-hops
// per second and allocations per frame-hop in steady state.
func BenchmarkPaperRack(b *testing.B) {
	for _, scheme := range cc.Schemes {
		b.Run(scheme.Name, func(b *testing.B) {
			hops := int64(0)
			for b.Loop() {
				l, err := lab.New(paper(b, scheme.Name))
				if err != nil {
					b.Fatal(err)
				}
				l.Run(8 * unit.Millisecond)
				hops += l.FrameHops()
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
		})
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, scheme := range cc.Schemes {
		s := paper(t, scheme.Name)
		s.Bursts, s.Flows = nil, s.Flows[:2]
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		l.Run(3 * unit.Millisecond)
		before := l.FrameHops()
		allocs := testing.AllocsPerRun(1, func() { l.Run(l.Now() + unit.Millisecond) })
		if hops := l.FrameHops() - before; allocs > float64(hops)/1000 {
			t.Errorf("%s: %.0f allocations in %d frame-hops", scheme.Name, allocs, hops)
		}
	}
}

// RTTX-58: where nothing is congested the switches change no byte of any frame, in
// either direction: the digest is that of switches that do not convert. Where
// something is, it is another.
func TestConversionIsTransparentWithoutCongestion(t *testing.T) {
	digests := func(rate string) (with, without string) {
		text := fmt.Sprintf(`name: calm
duration: 300us
scheme: timely-rttx
defaults: {nic: {rtt: receiver}, link: {rate: 40Gbps, delay: 1us}}
nics: {a0..a1: , r0: }
switches: {s0..s1: }
links: [{endpoints: [a0..a1, s0]}, {endpoints: [s0, s1]}, {endpoints: [r0, s1]}]
flows: [{name: F0, from: a0, to: r0, size: 500KB, initial_rate: %s}, {name: F1, from: a1, to: r0, size: 500KB, initial_rate: %s}]
schemes: {timely-rttx: {delta: 0}}
`, rate, rate)
		for _, rewrite := range []string{"{3: rttx}", "{3: none}"} {
			s, err := scenariofile.ParseWith("calm", []byte(text), []topology.Setting{{Key: "switch.rewrite", Value: rewrite}})
			if err != nil {
				t.Fatal(err)
			}
			with, without = without, measured(t, s).Digest
		}
		return with, without
	}
	if with, without := digests("10Gbps"); with != without {
		t.Errorf("at half of the link the digest is %s, without conversion %s", with, without)
	}
	if with, without := digests("30Gbps"); with == without {
		t.Error("the conversion has no effect with congestion either")
	}
}
