package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// PCN-17: the right rate of a congested flow is the rate at which it is received:
// it loses nothing by that, and nothing pauses. On the rack of fig. 5 F1 is received
// with a quarter of r1's link, 10 Gbit/s; PCN sets it to that in two periods.
func TestACongestedFlowIsSetToItsReceivingRate(t *testing.T) {
	text, _ := scenariofile.Builtin("fig5")
	s, err := scenariofile.ParseWith("fig5", text, []topology.Setting{{Key: "scheme", Value: "pcn"}, {Key: "duration", Value: "1ms"}})
	if err != nil {
		t.Fatal(err)
	}
	run := measured(t, s)
	for _, r := range run.Series.Rates {
		if rate := float64(r.Bins[3]) / 1e9; r.Name == "F1" && (rate < 9.5 || rate > 10) {
			t.Errorf("after 200 us F1 is limited to %.2f Gbit/s, want 10 less a 128th", rate)
		}
	}
	for _, p := range run.Pauses {
		if p.Link == "s1->s0" || p.Link == "s0->h0" || p.Link == "s0->h1" {
			t.Errorf("%d PAUSE frames on %s", p.XOFF, p.Link)
		}
	}
	for _, g := range run.Series.Goodput {
		sum := int64(0)
		for _, bytes := range g.Bins[4:] {
			sum += bytes
		}
		rate := float64(unit.Over(unit.Bytes(sum), s.Duration-4*s.Bin)) / 1e9
		if g.Name == "F1" && rate < 9 {
			t.Errorf("F1 is delivered at %.2f Gbit/s after that, want its 9.4 of payload", rate)
		}
	}
}

// PCN-20: a mouse of 64 KB, or of 50 bytes, has left before its first ACK is in, so
// that no reaction point can do anything about it; an elephant of 100 MB goes on for
// hundreds of round trips.
func TestShortFlowsAreSentBeforeTheFirstACK(t *testing.T) {
	s := star(t, 3, topology.Setting{Key: "scheme", Value: "pcn"}, topology.Setting{Key: "duration", Value: "30ms"},
		topology.Setting{Key: "F0.size", Value: "50B"}, topology.Setting{Key: "F1.size", Value: "64KB"},
		topology.Setting{Key: "F2.size", Value: "100MB"})
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var lastSent, firstACK, done [3]unit.Time
	l.PerFrame = true
	l.Listen = func(_ int, notes []fabric.Note) {
		for _, n := range notes {
			switch n.Kind {
			case fabric.Transmitted:
				lastSent[n.Flow] = n.At
			case fabric.Acked:
				if firstACK[n.Flow] == 0 {
					firstACK[n.Flow] = n.At
				}
			case fabric.Completed:
				done[n.Flow] = n.At
			default:
			}
		}
	}
	l.Run(s.Duration)
	for mouse := range 2 {
		if done[mouse] == 0 || lastSent[mouse] >= firstACK[mouse] {
			t.Errorf("flow %d: last packet at %s, first ACK at %s, done at %s", mouse, lastSent[mouse], firstACK[mouse], done[mouse])
		}
	}
	if trips := lastSent[2] / firstACK[2]; done[2] == 0 || trips < 300 {
		t.Errorf("the elephant takes %d round trips, done at %s", trips, done[2])
	}
}

// updates returns, for the two long flows under a scheme, the smallest rate after a
// decrease as a share of the rate before, and the shortest times between two
// decreases and between two changes of one flow, in the first 4 ms of the paper's
// scenario.
func updates(t *testing.T, scheme string) (share float64, betweenDecreases, betweenChanges unit.Time) {
	t.Helper()
	s := wholePaper(t, scheme)
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	type flow struct {
		rate              unit.Rate
		decreased, change unit.Time
	}
	var flows [2]flow
	for i := range flows {
		flows[i] = flow{s.Flows[i].Initial, -unit.Second, -unit.Second}
	}
	share, betweenDecreases, betweenChanges = 1, unit.Never, unit.Never
	l.Listen = func(_ int, notes []fabric.Note) {
		for _, n := range notes {
			if n.Kind != fabric.RateChanged || int(n.Flow) >= len(flows) {
				continue
			}
			f := &flows[n.Flow]
			if n.Rate() < f.rate {
				share = min(share, float64(n.Rate())/float64(f.rate))
				betweenDecreases, f.decreased = min(betweenDecreases, n.At-f.decreased), n.At
			}
			betweenChanges, f.change = min(betweenChanges, n.At-f.change), n.At
			f.rate = n.Rate()
		}
	}
	l.Run(4 * unit.Millisecond)
	return share, betweenDecreases, betweenChanges
}

// PCN-11: an update takes at most half of the rate. DCQCN decreases no more than once
// in 50 us, TIMELY updates once per segment of 64 KB, 12.8 us at 40 Gbit/s, and here
// at most 20. QCN's 100 packets are 150 KB without congestion, 30 us at 40 Gbit/s, and
// 18.5 KB, 3.7 us, at its worst; the jitter is 15 %.
func TestDecreasesAreBounded(t *testing.T) {
	for _, tt := range []struct {
		scheme            string
		decreases, change unit.Time
	}{
		{"qcn", 3 * unit.Microsecond, 0},
		{"dcqcn", 49900 * unit.Nanosecond, 0},
		{"timely", 12800 * unit.Nanosecond, 12800 * unit.Nanosecond},
	} {
		share, decreases, change := updates(t, tt.scheme)
		t.Logf("%s: at least %.3f of the rate is left, decreases %s apart, changes %s", tt.scheme, share, decreases, change)
		if share < 0.499 || share > 0.99 {
			t.Errorf("%s: a decrease leaves %.3f of the rate", tt.scheme, share)
		}
		if decreases < tt.decreases || change < tt.change || decreases == unit.Never {
			t.Errorf("%s: decreases %s apart, changes %s", tt.scheme, decreases, change)
		}
	}
}

// PCN-56: one turn of the control loop sets F1 to its fifteenth of r1's link, 2.67
// Gbit/s on the wire. That turn is a period of 50 us and an RTT: it ends 80.9 us, 2.7
// RTT, after the burst, not one RTT.
func TestPCNRelievesCongestionInOnePeriod(t *testing.T) {
	s := wholePaper(t, "pcn")
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	relieved := unit.Never
	l.Listen = func(_ int, notes []fabric.Note) {
		for _, n := range notes {
			if n.Kind == fabric.RateChanged && n.Flow == 1 && n.Rate() < 2720*unit.MegabitPerSec {
				relieved = min(relieved, n.At)
			}
		}
	}
	l.Run(s.Bursts[0].At + unit.Millisecond)
	if took := relieved - s.Bursts[0].At; took < 80*unit.Microsecond || took > 82*unit.Microsecond {
		t.Errorf("F1 is at its share %s after the burst, want 50 us and an RTT of 30.9", took)
	}
}
