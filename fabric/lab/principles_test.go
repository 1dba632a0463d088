package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// PCN-17: the right rate of a congested flow is the rate at which it is received:
// it loses nothing by that, and nothing pauses. On the rack of fig. 5 F1 is received
// with a quarter of r1's link, 10 Gbit/s; PCN sets it to that in two periods.
func TestACongestedFlowIsSetToItsReceivingRate(t *testing.T) {
	text, _ := topology.Builtin("fig5")
	s, err := topology.ParseWith("fig5", text, []topology.Setting{{Key: "scheme", Value: "pcn"}, {Key: "duration", Value: "1ms"}})
	if err != nil {
		t.Fatal(err)
	}
	run := measured(t, s)
	for _, r := range run.Series.Rates {
		if rate := float64(r.Bins[3]) / 1e9; r.Name == "F1" && (rate < 9.5 || rate > 10) {
			t.Errorf("after 200 us F1 is regulated to %.2f Gbit/s, want 10 less a 128th", rate)
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
func TestMiceAreBeyondControl(t *testing.T) {
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
