package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// getIncast returns the scenario of GET-60 under a kind of pacing.
func getIncast(t testing.TB, settings ...topology.Setting) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin("get-incast")
	s, err := scenariofile.ParseWith("get-incast", text, settings)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pacing(way string) topology.Setting { return topology.Setting{Key: "nic.pacing", Value: way} }

// meter is a leaky bucket: the data received less the data drained at the rate.
type meter struct {
	rate  unit.Rate
	level unit.Bytes
	at    unit.Time
	peak  unit.Bytes
}

func (m *meter) add(now unit.Time, n unit.Bytes) {
	m.level = max(0, m.level-m.rate.In(now-m.at)) + n
	m.at, m.peak = now, max(m.peak, m.level)
}

// GET-58: the rate at which responses come in is the rate at which they can be
// absorbed. GET-60: with pacing on, the data arriving in any interval is at most the
// threshold's rate times the interval plus one burst; checked at every arrival at the
// initiator. Without pacing it is not.
func TestArrivalsStayBelowTheThreshold(t *testing.T) {
	for way, within := range map[string]bool{"off": false, "bucket": true} {
		s := getIncast(t, pacing(way))
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		const host = 0
		ports := s.PortMap()
		last := ports[host][0]
		set := s.Nodes[host].NIC.Engine
		m := meter{rate: set.Absorb}
		arrivals := 0
		l.PerFrame = true
		l.Listen = func(node int, notes []fabric.Note) {
			for _, n := range notes {
				if node == last.Peer && n.Kind == fabric.Dequeued && n.Port == last.PeerPort && n.Priority == 3 {
					m.add(n.At, n.Bytes()) // each arrives as much later as it is long
					arrivals++
				}
			}
		}
		l.Run(s.Duration)
		// Requests cannot leave at the very same instant: one may wait for another.
		jitter := set.Absorb.In(s.Links[last.Link].Rate.Serialise(78)) + 1
		if most := set.Burst + jitter; (m.peak <= most) != within || arrivals < 19_000 {
			t.Errorf("%s: %d arrivals exceed %v by up to %v, the burst is %v", way, arrivals, set.Absorb, m.peak, most)
		}
	}
}

// GET-60: with pacing off the queue and the pauses build up at the initiator's last
// hop, with it on they are gone at the same goodput.
// GET-59: off is selectable and shows the congestion.
// GET-3: it spreads to hosts that only send: F0 is a victim.
func TestGetIncast(t *testing.T) {
	off := measured(t, getIncast(t, pacing("off")))
	for _, way := range []string{"bucket", "outstanding"} {
		on := measured(t, getIncast(t, pacing(way)))
		if off.Initiators[0].PAUSE < 100*max(1, on.Initiators[0].PAUSE) {
			t.Errorf("%s: %d PAUSE frames of the initiator, %d without pacing", way, on.Initiators[0].PAUSE, off.Initiators[0].PAUSE)
		}
		if on.Commands[0].Goodput < off.Commands[0].Goodput*98/100 {
			t.Errorf("%s: goodput %v, %v without pacing", way, on.Commands[0].Goodput, off.Commands[0].Goodput)
		}
		if on.Initiators[0].Queue > off.Initiators[0].Queue/20 || on.Tree != 0 || off.Tree < unit.Millisecond {
			t.Errorf("%s: queue %v and tree %v, without pacing %v and %v", way, on.Initiators[0].Queue, on.Tree, off.Initiators[0].Queue, off.Tree)
		}
		if on.Flows[0].Goodput < 2*off.Flows[0].Goodput {
			t.Errorf("%s: F0 gets %v, without pacing %v", way, on.Flows[0].Goodput, off.Flows[0].Goodput)
		}
		// GET-61: stalls for IN tokens, and skips, occur only with pacing.
		if on.Initiators[0].StallIn < unit.Millisecond || on.Initiators[0].Skips == 0 || off.Initiators[0].StallIn != 0 || on.Initiators[0].StallOut != 0 {
			t.Errorf("%s: %+v", way, on.Initiators[0])
		}
	}
}

// GET-46: the requests of PUTs and the responses to GETs of one NIC together have
// what its OUT tokens allow, whatever the mixture.
func TestPutsAndResponsesShareTheEgressOfANIC(t *testing.T) {
	text, _ := scenariofile.Builtin("get-mixed")
	s, err := scenariofile.ParseWith("get-mixed", text, []topology.Setting{{Key: "h0.out_rate", Value: "100Gbps"}})
	if err != nil {
		t.Fatal(err)
	}
	run := measured(t, s)
	payload := 100 * 2048.0 / 2114
	for _, c := range []struct {
		name string
		gbps float64
	}{
		{"PUTs alone", giga(run, 0)},
		{"GETs alone", giga(run, 1)},
		{"both", giga(run, 2) + giga(run, 3)},
	} {
		if c.gbps < payload*0.98 || c.gbps > payload*1.005 {
			t.Errorf("%s: %.2f Gbit/s, want %.2f", c.name, c.gbps, payload)
		}
	}
	if a, b := giga(run, 2), giga(run, 3); a < 0.98*b || b < 0.98*a {
		t.Errorf("PUTs get %.2f and responses %.2f", a, b)
	}
}

func giga(run *measure.Run, i int) float64 { return float64(run.Commands[i].Goodput) / 1e9 }

// Observing every packet and running in steps change nothing: reading counters during
// the run does not affect it.
func TestStepsAndNotesDoNotChangeTheDigestOfCommands(t *testing.T) {
	s := getIncast(t, pacing("bucket"), topology.Setting{Key: "duration", Value: "500us"})
	whole := measured(t, s)
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.PerFrame = true
	for l.Now() < s.Duration {
		l.Run(min(s.Duration, l.Now()+777*unit.Nanosecond))
		l.Results()
	}
	stepped, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	if whole.Digest != stepped.Digest {
		t.Fatalf("digest %s in one go, %s in steps", whole.Digest, stepped.Digest)
	}
}

// BenchmarkGetIncast runs get-incast; it reports frame-hops per second.
func BenchmarkGetIncast(b *testing.B) {
	for _, way := range []string{"off", "bucket", "outstanding"} {
		b.Run(way, func(b *testing.B) {
			hops := int64(0)
			for b.Loop() {
				l, err := lab.New(getIncast(b, pacing(way)))
				if err != nil {
					b.Fatal(err)
				}
				l.Run(3 * unit.Millisecond)
				hops += l.FrameHops()
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
		})
	}
}

// Commands work with every scheme over RoCEv2. If the notification needs no ACK, which
// a response does not have, the targets' reaction points regulate the responses. Under
// CETH the next request carries the notification, or a CNP does.
func TestCommandsUnderEveryRoCEScheme(t *testing.T) {
	for scheme, regulated := range map[string]bool{"pfc": false, "pcn": true, "dcqcn": true, "qcn": true, "timely": false, "ceth": true, "cbrc-aimd": false} {
		s := getIncast(t, pacing("off"), topology.Setting{Key: "i0.absorb", Value: "0"})
		s.Scheme = scheme
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		moved := 0
		l.Listen = func(node int, notes []fabric.Note) {
			for _, n := range notes {
				if n.Kind == fabric.RateChanged && n.Flow >= topology.FirstConnection && s.Nodes[node].Name[0] == 't' {
					moved++
				}
			}
		}
		l.Run(s.Duration)
		run, err := l.Outcome()
		if err != nil {
			t.Fatal(err)
		}
		if c := run.Commands[0]; c.Bytes < 10*unit.Megabyte || run.Malformed != 0 || run.Drops != 0 {
			t.Errorf("%s: %+v, %d malformed, %d drops", scheme, c, run.Malformed, run.Drops)
		}
		if (moved > 0) != regulated {
			t.Errorf("%s: the targets' rates moved %d times", scheme, moved)
		}
	}
}
