package cc

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// NSCC-11: §11 point 5: N equal senders into one link each achieve 1.75 BDP / N in a period of quick adapt.
// That is below 1.5 BDP / 8 from N = 10 on; without trimming (2 BDP / N) from 11 on.
func TestNSCCQuickAdaptFiresFromTenSendersOn(t *testing.T) {
	for _, trimming := range []NSCCTrimming{TrimmingOn, TrimmingOff} {
		first := 0
		for n := 1; n <= 20 && first == 0; n++ {
			c := newTestNSCC(func(p *NSCCParams) { p.Trimming = trimming })
			c.Handle(us, Signal{Kind: Ack, RTT: 12 * us}) // begins the first period
			span := 12*us + unit.Time(c.k.target)
			c.inFlight = c.k.most
			c.achieved = bdp(100e9, span) / float64(n)
			want := c.achieved
			if c.quickAdapt(us+span, true, true, 0) {
				first = n
				wantNSCC(t, "window", c.cwnd, want, 1)
				if c.ignore != c.k.most || c.achieved != 0 {
					t.Errorf("%v bytes to ignore, %v achieved", c.ignore, c.achieved)
				}
			}
		}
		if want := map[NSCCTrimming]int{TrimmingOn: 10, TrimmingOff: 11}[trimming]; first != want {
			t.Errorf("trimming %s: quick adapt from %d senders on, want %d", trimming, first, want)
		}
	}
}

// NSCC-12: Quick adapt fires at most once per base RTT + target, and not in the first period. Marked ACKs
// of bytes that were in flight are ignored.
func TestNSCCQuickAdaptOncePerPeriod(t *testing.T) {
	c := newTestNSCC()
	trim := Signal{Kind: Trimmed, Bytes: nsccMTU, InFlight: 100_000}
	c.Handle(us, trim) // begins the first period
	wantNSCC(t, "first NACK", c.cwnd, 225_000-nsccMTU, 1)
	c.Handle(22*us, trim)
	if c.cwnd != nsccMTU || c.ignore != 100_000 {
		t.Errorf("window %v after a period in which nothing arrived, want an MTU; %v bytes to ignore", c.cwnd, c.ignore)
	}
	c.cwnd = 50_000
	c.feed(35*us, 30*us, 1000, true)
	wantNSCC(t, "marked ACK of bytes in flight", c.cwnd, 50_000, 1)
	c.Handle(36*us, trim)
	wantNSCC(t, "another NACK", c.cwnd, 50_000, 1) // ignored too
}

// NSCC-12: Losses within one base RTT + target after quick adapt only take their size off.
func TestNSCCQuickAdaptWaitsForThePeriod(t *testing.T) {
	c := newTestNSCC()
	trim := Signal{Kind: Trimmed, Bytes: nsccMTU} // nothing is in flight, so that no ACK is ignored
	c.Handle(0, trim)
	for _, step := range []struct {
		at   unit.Time
		want float64
	}{{20 * us, 100_000 - nsccMTU}, {21 * us, nsccMTU}, {41 * us, 100_000 - nsccMTU}, {42 * us, nsccMTU}} {
		c.cwnd = 100_000
		c.Handle(step.at, trim)
		wantNSCC(t, step.at.String(), c.cwnd, step.want, 1)
	}
}

// NSCC-12: The first ACK of a period adapts if a packet was lost in the one before, or its delay is above
// qa_threshold: 4 targets without trimming, none with it. Acknowledged bytes end the time in which marked
// ACKs are ignored.
func TestNSCCCausesOfQuickAdapt(t *testing.T) {
	for _, step := range []struct {
		loss     bool
		trimming NSCCTrimming
		delay    unit.Time
		adapts   bool
	}{
		{true, TrimmingOn, us, true},
		{false, TrimmingOn, us, false},
		{false, TrimmingOfSwitches, unit.Millisecond, false},
		{false, TrimmingOff, 48 * us, false},
		{false, TrimmingOff, 49 * us, true},
	} {
		c := newTestNSCC(noEta, func(p *NSCCParams) { p.Trimming, p.Fair, p.Proportional = step.trimming, 0, 0 })
		c.Handle(us, Signal{Kind: Ack, RTT: 12 * us}) // begins the first period
		if step.loss {
			c.Handle(2*us, Signal{Kind: Trimmed, Bytes: nsccMTU})
		}
		before := c.cwnd
		c.Handle(30*us, Signal{Kind: Ack, Bytes: 5000, InFlight: 9000, RTT: 12*us + step.delay})
		if adapts := c.cwnd == 5000; adapts != step.adapts || !adapts && c.cwnd != before {
			t.Errorf("%+v: window %v", step, c.cwnd)
		}
		if !step.adapts {
			continue
		}
		c.adjusted = 30 * us
		for _, ignored := range []bool{true, false} { // 5000 of 9000 bytes in flight, and all
			c.Handle(31*us, Signal{Kind: Ack, Bytes: 5000, RTT: 12*us + step.delay, Marked: true})
			if ignored != (c.received == 0) {
				t.Errorf("%+v: %v received, ignored: want %t", step, c.received, ignored)
			}
		}
	}
}
