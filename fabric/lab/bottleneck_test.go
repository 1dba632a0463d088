package lab_test

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// line is one flow of 1 MB through two switches.
const line = "name: line\nduration: 4ms\ndefaults: {link: {rate: 40Gbps, delay: 1us, overhead: 20B, mtu: 1518B}}\nnics: {h0: , h1: }\nswitches: {s0: , s1: }\n" +
	"links: [{endpoints: [h0, s0]}, {endpoints: [s0, s1]}, {endpoints: [s1, h1]}]\nflows: [{name: F, from: h0, to: h1, size: 1MB}]\n"

// carried returns the payload of the flow per byte that the frames of its class took on the link to
// the receiver, by the counters of the switch. ACKs and CNPs go the other way.
func carried(t *testing.T, s *topology.Scenario, run *measure.Run) float64 {
	t.Helper()
	var wire, frames uint64
	for _, n := range run.Nodes {
		for _, p := range n.Ports {
			for _, c := range p.Classes {
				if n.Name == "s1" && p.Peer == "h1" {
					wire, frames = wire+c.Counters["SAI_QUEUE_STAT_BYTES"], frames+c.Counters["SAI_QUEUE_STAT_PACKETS"]
				}
			}
		}
	}
	f := run.Flows[0]
	if run.Retransmits > 0 || f.End == s.Duration || frames == 0 {
		t.Fatalf("%d retransmitted, ended at %s, %d frames", run.Retransmits, f.End, frames)
	}
	return float64(f.Bytes) / float64(wire+frames*uint64(s.Links[2].Overhead))
}

// The payload rate of the bottleneck is the share of payload in the packets on its link, whatever the
// payload, under every scheme, recovery and telemetry, as far as the MTU has room for it. Otherwise
// short packets would look like congestion.
func TestBottleneckHasTheHeadersOfTheScheme(t *testing.T) {
	for _, payload := range []string{"256B", "512B"} {
		check := func(scheme string, set ...topology.Setting) {
			checkBottleneck(t, append([]topology.Setting{{Key: "scheme", Value: scheme}, {Key: "nic.payload", Value: payload}}, set...))
		}
		for _, scheme := range cc.Schemes {
			check(scheme.Name)
			check(scheme.Name, topology.Setting{Key: "nic.recovery", Value: "selective"})
		}
		check("ceth", topology.Setting{Key: "ceth.source", Value: "int"})
		check("ceth", topology.Setting{Key: "ceth.source", Value: "int"}, topology.Setting{Key: "h0.ceth", Value: "false"})
		check("ceth", topology.Setting{Key: "ceth.source", Value: "ioam"}, topology.Setting{Key: "link.mtu", Value: "620B"})
		check("timely", topology.Setting{Key: "nic.rtt_probe", Value: "500us"})
	}
}

// checkBottleneck compares the bottleneck's payload rate with the counters of a run.
func checkBottleneck(t *testing.T, set []topology.Setting) {
	t.Helper()
	s, err := scenariofile.ParseWith("line", []byte(line), set)
	if err != nil {
		t.Fatalf("%v: %v", set, err)
	}
	share := float64(measure.Bottleneck(s)) / float64(s.Links[2].Rate)
	if got := carried(t, s, measured(t, s)); math.Abs(got-share) > 0.0005 {
		t.Errorf("%v: the bottleneck's payload rate is %.4f of its rate, its link carried %.4f", set, share, got)
	}
}
