package measure

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// followed returns the reaction of flow 0 of the rack to notes, passed node by node.
func followed(nodes ...[]fabric.Note) ReactionResult {
	r := NewReaction(rack(), 0)
	for _, notes := range nodes {
		r.Observe(notes)
	}
	return r.Result()
}

// packets returns the transmissions of packets with the PSNs 0 to n-1, 10 us apart.
func packets(n int) (notes []fabric.Note) {
	for i := range n {
		notes = append(notes, note(unit.Time(i)*10*us, fabric.Transmitted, 0, 1000, int64(i)))
	}
	return notes
}

// arrivals returns their arrivals, 5 us later.
func arrivals(n int) (notes []fabric.Note) {
	for i := range n {
		notes = append(notes, note(unit.Time(i)*10*us+5*us, fabric.Received, 0, 1000, int64(i)))
	}
	return notes
}

func TestReactionCountsFromTheFirstMark(t *testing.T) {
	const gbps = int64(unit.GigabitPerSec)
	sender := append(packets(12),
		note(42*us, fabric.NotificationIn, 0, 1, 0),
		note(42*us, fabric.RateChanged, 0, 20*gbps, 40*gbps),
		note(61*us, fabric.RateChanged, 0, 10*gbps, 20*gbps),
		note(95*us, fabric.RateChanged, 0, 37*gbps, 10*gbps),
		note(101*us, fabric.RateChanged, 0, 38*gbps, 37*gbps),
		note(1*us, fabric.NotificationIn, 1, 1, 0), // another flow's
	)
	marks := []fabric.Note{note(22*us, fabric.Marked, 0, 0, 2), note(53*us, fabric.Marked, 0, 0, 5)}
	got := followed(sender, arrivals(12), marks)
	// PSN 2 is packet 1. The rate falls before packets 4 and 6, and is back at 95 % of
	// 40 Gbit/s at packet 10.
	if got.SlowDown != 4 || got.Lowest != 6 || got.LowestRate != unit.Rate(10*gbps) || got.Clear != 5 || got.Recovered != 10 || got.Cuts != 2 {
		t.Errorf("slows down at %d, lowest %d (%v), clear %d, recovered %d, %d cuts", got.SlowDown, got.Lowest, got.LowestRate, got.Clear, got.Recovered, got.Cuts)
	}
	// Packet 1 arrives at 25 us, packet 5 at 65 us; the first rate increase is at 95
	// us.
	if got.Notice != 17*us || got.End != 30*us {
		t.Errorf("notice after %v, of the end after %v", got.Notice, got.End)
	}
	for i, p := range got.Packets {
		if p.Number != i-1 || p.PSN != uint32(i) || p.Marked != (i == 2 || i == 5) || p.Received-p.Sent != 5*us {
			t.Errorf("packet %d: %+v", i, p)
		}
	}
	if len(got.Rates) != 5 || got.Rates[0].Rate != unit.Rate(40*gbps) {
		t.Errorf("rates %v", got.Rates)
	}
}

// An indication, if any, signals the end of congestion before the rate changes.
func TestReactionToIndications(t *testing.T) {
	sender := append(packets(8),
		note(29*us, fabric.IndicationIn, 0, 1, 3), note(29*us, fabric.RateChanged, 0, 10, 40e9),
		note(50*us, fabric.IndicationIn, 0, 0, 0), note(52*us, fabric.RateChanged, 0, 40e9, 10),
	)
	got := followed(sender, arrivals(8), []fabric.Note{note(12*us, fabric.Marked, 0, 0, 1)})
	if got.Notice != 14*us || got.End != 25*us || got.SlowDown != 3 || got.Lowest != 3 || got.Recovered != 6 {
		t.Errorf("%+v", got)
	}
}

func TestReactionWithoutCongestion(t *testing.T) {
	got := followed(packets(3), arrivals(2))
	if got.SlowDown != 0 || got.Lowest != 0 || got.Clear != 0 || got.Recovered != 0 || got.Notice != unit.Never || got.End != unit.Never {
		t.Errorf("%+v", got)
	}
	if p := got.Packets[2]; p.Number != 0 || p.Received != unit.Never {
		t.Errorf("%+v", p)
	}
	if got := followed(); len(got.Packets) != 0 {
		t.Errorf("%+v", got)
	}
}

// A run that ends during congestion has no clear packet and no recovery.
func TestReactionCutShort(t *testing.T) {
	sender := append(packets(3), note(12*us, fabric.IndicationIn, 0, 1, 3), note(12*us, fabric.RateChanged, 0, 10, 40e9))
	got := followed(sender, arrivals(3), []fabric.Note{note(1*us, fabric.Marked, 0, 0, 0), note(21*us, fabric.Marked, 0, 0, 2)})
	if got.Clear != 0 || got.Recovered != 0 || got.End != unit.Never || got.SlowDown != 3 {
		t.Errorf("%+v", got)
	}
}
