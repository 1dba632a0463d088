package lab_test

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
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
	text, _ := topology.Builtin("pcn-16to2")
	s, err := topology.ParseWith("pcn-16to2", text, set)
	if err != nil {
		t.Fatal(err)
	}
	return s, measured(t, s)
}

// Every model choice that other implementations make differently is a setting that
// reaches the machines: another value gives another run, and the default's value
// written out gives the same.
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
func TestOverheadBelowZeroGivesTheShareOfOthersHeaders(t *testing.T) {
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

// A headroom below what comes in after PAUSE loses frames of a lossless class, each
// noted as such, and counted; the formula's loses none. The warning says so beforehand.
func TestAShortHeadroomLosesFrames(t *testing.T) {
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
				if noted++; fabric.DropReason(n.B) != fabric.DropHeadroom || n.Priority != 3 {
					t.Errorf("a frame of class %d is dropped for %v", n.Priority, fabric.DropReason(n.B))
				}
			}
		}
		l.Run(s.Duration)
		if lossy != (run.Drops > 0) || noted != run.Drops {
			t.Errorf("headroom %s: %d drops, %d noted", headroom, run.Drops, noted)
		}
		if warned := len(s.Warnings()) > 0; warned != lossy {
			t.Errorf("headroom %s: warnings %v", headroom, s.Warnings())
		}
	}
}
