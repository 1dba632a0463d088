package lab_test

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// chosen runs pcn-16to2 for 2 ms under a scheme with settings, "KEY=VALUE".
func chosen(t *testing.T, scheme string, settings ...string) (*topology.Scenario, *measure.Run) {
	t.Helper()
	set := []topology.Setting{{Key: "duration", Value: "2ms"}, {Key: "scheme", Value: scheme}}
	for _, one := range settings {
		key, value, _ := strings.Cut(one, "=")
		set = append(set, topology.Setting{Key: key, Value: value})
	}
	text, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.ParseWith("pcn-16to2", text, set)
	if err != nil {
		t.Fatal(err)
	}
	return s, measured(t, s)
}

// Every model choice that implementations make differently is a setting that reaches
// the machines. Another value changes the run; the default value, set explicitly, does
// not.
func TestModelChoicesReachTheMachines(t *testing.T) {
	for _, c := range []struct{ scheme, is, other string }{
		{"pcn", "nic.pacer=catch-up", "nic.pacer=gap"},
		{"timely", "nic.ack_class=control", "nic.ack_class=data"},
		{"pcn", "link.overhead=0", "link.overhead=-14B"},
		{"pfc", "switch.arbitration=ingress", "switch.arbitration=fifo"},
	} {
		_, plain := chosen(t, c.scheme)
		_, same := chosen(t, c.scheme, c.is)
		_, other := chosen(t, c.scheme, c.other)
		if same.Digest != plain.Digest {
			t.Errorf("%s is not the default", c.is)
		}
		if other.Digest == plain.Digest {
			t.Errorf("%s changes nothing", c.other)
		}
		if other.Drops != 0 {
			t.Errorf("%s: %d drops", c.other, other.Drops)
		}
	}
}

// With an overhead of -14 bytes data packets of 1062 bytes last as long as the 1048
// bytes of the HPCC simulator: a link of 40 Gbit/s carries 38.17 Gbit/s of payload
// instead of 37.66, and the 64 KB flows of the burst share it.
func TestNegativeOverhead(t *testing.T) {
	for overhead, want := range map[string]float64{"0": 1000.0 / 1062, "-14B": 1000.0 / 1048, "20B": 1000.0 / 1082} {
		s, run := chosen(t, "pfc", "link.overhead="+overhead)
		best := 0.0
		for bin := range run.Series.Goodput[0].Bins {
			sum := int64(0)
			for _, g := range run.Series.Goodput[:2] {
				if bin < len(g.Bins) {
					sum += g.Bins[bin]
				}
			}
			if at := unit.Time(bin) * s.Bin; at >= 100*unit.Microsecond && at < 300*unit.Microsecond {
				best = max(best, float64(unit.Over(unit.Bytes(sum), s.Bin))/40e9)
			}
		}
		if best < want-0.004 || best > want+0.004 {
			t.Errorf("overhead %s: the bottleneck carries %.4f of its rate as payload, want %.4f", overhead, best, want)
		}
	}
}

// A headroom smaller than the data received after PAUSE loses frames of a lossless
// class, each noted as such and counted. The headroom of the formula loses none. A
// warning says so beforehand.
func TestShortHeadroomLosesFrames(t *testing.T) {
	for headroom, lossy := range map[string]bool{"30KB": true, "0": false} {
		s, run := chosen(t, "pfc", "switch.headroom="+headroom)
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		noted := int64(0)
		l.Listen = func(_ int, notes []fabric.Note) {
			for _, n := range notes {
				if n.Kind != fabric.Dropped {
					continue
				}
				if noted++; n.Reason() != fabric.DropHeadroom || n.Priority != 3 {
					t.Errorf("a frame of class %d is dropped for %v", n.Priority, n.Reason())
				}
			}
		}
		l.Run(s.Duration)
		if lossy != (run.Drops > 0) || noted != run.Drops {
			t.Errorf("headroom %s: %d drops, %d noted", headroom, run.Drops, noted)
		}
		if warned := len(scenariofile.Warnings(s)) > 0; warned != lossy {
			t.Errorf("headroom %s: warnings %v", headroom, scenariofile.Warnings(s))
		}
	}
}

// The class of ACKs matters with data in both directions. While a burst to h1 pauses the
// link s1-s0, the ACKs of F0 wait there with the data. TIMELY takes the wait for
// congestion of its own path, and F0 falls, though nothing on its path is congested.
func TestACKsInTheDataClassQueueOnTheReturnPath(t *testing.T) {
	const reverse = `name: reverse
duration: 3ms
scheme: timely
defaults: {switch: {xoff: 200KB}, link: {rate: 40Gbps, delay: 5us}}
nics: {h0..h1: , r0..r4: }
switches: {s0..s1: }
links: [{endpoints: ["h0..h1", s0]}, {endpoints: [s0, s1]}, {endpoints: ["r0..r4", s1]}]
flows:
  - {name: F0, from: h0, to: r0, size: endless}
  - {name: R, from: r0, to: h1, size: endless, initial_rate: 10Gbps}
bursts: [{name: burst, from: r1..r4, to: h1, flows_per_sender: 4, size: 256KB, at: 300us}]
`
	rates := map[string]unit.Rate{}
	for _, class := range []string{"control", "data"} {
		s, err := scenariofile.ParseWith("reverse.yaml", []byte(reverse), []topology.Setting{{Key: "nic.ack_class", Value: class}})
		if err != nil {
			t.Fatal(err)
		}
		run := measured(t, s)
		if run.Drops != 0 {
			t.Errorf("%s: %d drops", class, run.Drops)
		}
		rates[class] = run.Flows[0].BurstGoodput
	}
	if rates["control"] < 30*unit.GigabitPerSec || rates["data"] > rates["control"]/2 {
		t.Errorf("F0 in the burst: %v", rates)
	}
}

// The order of DCQCN's cut clock and timer reaches the machines: under dcqcn_paper both
// are due at the same instant after the burst.
func TestOrderOfCutAndTimerReachesTheMachines(t *testing.T) {
	digests := map[string]string{}
	for _, tie := range []string{"cut", "earlier"} {
		_, run := chosen(t, "dcqcn", "duration=10ms", "dcqcn.preset=dcqcn_paper", "dcqcn.tie="+tie)
		digests[tie] = run.Digest
	}
	if digests["cut"] == digests["earlier"] {
		t.Errorf("digests %v", digests)
	}
}
