package cc

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

const us = unit.Microsecond

func notifier() *PCNNotifier {
	n := NewPCNNotifier(DefaultPCN())
	return &n
}

// period passes the packets, evenly spread over T from start on, and ends the
// period.
func period(n *PCNNotifier, start unit.Time, total, marked int) (PCNReport, bool) {
	for i := range total {
		n.Packet(start+unit.Time(i)*us/10, 1062, i < marked)
	}
	return n.Tick(start + 50*us)
}

// PCN-33: congested if at least 95 % of the packets received in T are marked.
func TestClassificationThreshold(t *testing.T) {
	for _, c := range []struct {
		total, marked int
		want          bool
	}{
		{20, 19, true}, // exactly 95 %: "at least", not "more than"
		{20, 18, false},
		{20, 20, true},
		{1, 1, true},
		{1, 0, false},
		{19, 18, false},
		{100, 95, true},
		{100, 94, false},
		{200, 190, true},
		{200, 189, false},
	} {
		r, ok := period(notifier(), 0, c.total, c.marked)
		if !ok || r.Congested != c.want {
			t.Errorf("%d of %d marked: congested %v (%v), want %v", c.marked, c.total, r.Congested, ok, c.want)
		}
	}
}

// PCN-33: the rule in floating point is the rule in whole numbers.
func TestClassificationMatchesWholeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := notifier()
		n.packets = rapid.Int64Range(1, 1<<40).Draw(t, "packets")
		edge := (n.packets*19 + 19) / 20
		n.marked = max(0, edge+rapid.Int64Range(-2, 2).Draw(t, "offset"))
		if want := 20*n.marked >= 19*n.packets; n.congested() != want {
			t.Fatalf("%d of %d: %v, want %v", n.marked, n.packets, n.congested(), want)
		}
	})
}

// PCN-34: the receiving rate is the bytes that arrived in T divided by T.
func TestReceivingRateIsBytesOverT(t *testing.T) {
	r, ok := period(notifier(), 0, 100, 0)
	if want := unit.Over(100*1062, 50*us); !ok || r.RecRate != want || want != 16_992_000_000 {
		t.Errorf("%v, %v; want %v", r.RecRate, ok, want)
	}
}

// PCN-35: if the time between two packets exceeds T it is used instead of T.
func TestSlowFlowIsMeasuredByInterArrivalTime(t *testing.T) {
	n := notifier()
	n.Packet(0, 1000, false)
	if r, ok := n.Tick(50 * us); !ok || r.RecRate != unit.Over(1000, 50*us) {
		t.Errorf("the first packet has no gap: %v, %v", r.RecRate, ok)
	}
	n.Packet(80*us, 1000, false)
	if r, ok := n.Tick(100 * us); !ok || r.RecRate != unit.Over(1000, 80*us) {
		t.Errorf("80 us apart: %v, %v; want 100 Mbit/s", r.RecRate, ok)
	}
	// The gap is kept when the timer stops.
	n.Tick(150 * us)
	n.Packet(480*us, 1000, false)
	if r, ok := n.Tick(530 * us); !ok || r.RecRate != unit.Over(1000, 400*us) {
		t.Errorf("400 us apart: %v, %v; want 20 Mbit/s", r.RecRate, ok)
	}
	// Two packets close together: the flow is not slow any more.
	n.Packet(540*us, 1000, false)
	n.Packet(541*us, 1000, false)
	if r, _ := n.Tick(580 * us); r.RecRate != unit.Over(2000, 50*us) {
		t.Errorf("1 us apart: %v", r.RecRate)
	}
}

// PCN-37: both a congested and an uncongested period are reported.
func TestReportBothWays(t *testing.T) {
	n := notifier()
	if r, ok := period(n, 0, 10, 10); !ok || !r.Congested {
		t.Errorf("%+v, %v", r, ok)
	}
	if r, ok := period(n, 50*us, 10, 0); !ok || r.Congested {
		t.Errorf("%+v, %v: counters were not reset at the end of the period", r, ok)
	}
}

// PCN-38: no packet in T, no CNP; and a silent flow costs no further ticks.
func TestSilentPeriodReportsNothingAndStopsTheTimer(t *testing.T) {
	n := notifier()
	if _, running := n.Next(); running {
		t.Fatal("the timer runs before the first packet")
	}
	period(n, 0, 1, 0)
	if _, ok := n.Tick(100 * us); ok {
		t.Error("reports a period without packets")
	}
	if _, running := n.Next(); running {
		t.Error("the timer of a silent flow continues")
	}
	n.Packet(777*us, 1000, false)
	if due, running := n.Next(); !running || due != 827*us {
		t.Errorf("the next packet starts a period that ends at %v (%v)", due, running)
	}
}

// PCN-42, PCN-43: periods run freely, one after the other, from the flow's first
// packet.
func TestPeriodsRunFreelyFromTheFirstPacket(t *testing.T) {
	n := notifier()
	n.Packet(7*us, 1000, false)
	for _, want := range []unit.Time{57 * us, 107 * us, 157 * us} {
		if due, _ := n.Next(); due != want {
			t.Fatalf("period ends at %v, want %v", due, want)
		}
		if _, early := n.Tick(want - 1); early {
			t.Fatal("reports before the period is over")
		}
		n.Packet(want-us, 1000, false)
		if _, ok := n.Tick(want); !ok {
			t.Fatalf("no report at %v", want)
		}
	}
}

// No byte is lost or counted twice: for any arrivals the reported bytes equal
// the received bytes.
func TestReportsAddUpToReceivedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := notifier()
		var now, sent, reported int64
		tick := func(at unit.Time) {
			open := n.bytes
			if r, ok := n.Tick(at); ok {
				reported += int64(open)
				if r.RecRate != unit.Over(open, max(50*us, n.gap)) {
					t.Fatalf("%v for %d bytes, gap %v", r.RecRate, open, n.gap)
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "packets") {
			now += rapid.Int64Range(1, int64(120*us)).Draw(t, "gap")
			for due, ok := n.Next(); ok && int64(due) < now; due, ok = n.Next() {
				tick(due)
			}
			n.Packet(unit.Time(now), 1000, false)
			sent += 1000
		}
		for due, ok := n.Next(); ok; due, ok = n.Next() {
			tick(due)
		}
		if reported != sent {
			t.Fatalf("%d bytes reported, %d received", reported, sent)
		}
	})
}
