package cc

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// One test per rule of the UE specification 1.0, §3.6.13. The reference network has 100 Gbit/s
// and 12 us, thus 150 KB; the MTU is 4160 bytes with headers.

const nsccMTU = 4160

var nsccPath = Path{Rate: 100 * gbps, BaseRTT: 12 * us}

func newTestNSCC(edit ...func(*NSCCParams)) *NSCC {
	p := DefaultNSCC()
	for _, e := range edit {
		e(&p)
	}
	return NewNSCC(0, p, nsccPath, nsccMTU)
}

// noAdapt disables quick adapt; noEta the additive term of each period.
func noAdapt(p *NSCCParams) { p.QuickAdapt = false }
func noEta(p *NSCCParams)   { p.Eta = 0 }

// feed acknowledges bytes in packets of 1000, all at one queueing delay, within one base RTT.
func (c *NSCC) feed(now, delay unit.Time, bytes unit.Bytes, marked bool) {
	c.inFlight += float64(bytes)
	for range bytes / 1000 {
		c.Acked(now, NSCCAck{Newly: 1000, Marked: marked, RTT: 12*us + delay})
	}
}

func wantNSCC(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Table 3-82 at 100 Gbit/s and 12 us with trimming: fi 20.8 KB, eta 624 B, largest window 225 KB,
// target 9 us. At 400 Gbit/s and 8 us: a = 2.667, target 6 us.
func TestNSCCConstants(t *testing.T) {
	c := newTestNSCC()
	wantNSCC(t, "fi", c.k.fair, 20_800, 0.1)
	wantNSCC(t, "eta", c.k.eta, 624, 0.1)
	wantNSCC(t, "largest window", c.k.most, 225_000, 1)
	wantNSCC(t, "target", c.k.target, float64(9*us), 1)
	wantNSCC(t, "alpha", c.k.alpha*float64(9*us), 4*0.75*nsccMTU, 0.1)
	if c.Window() != 225_000 || c.p.Validate() != nil {
		t.Errorf("initial window %s", c.Window())
	}
	p := DefaultNSCC()
	k := p.constants(400*gbps, 8*us, nsccMTU)
	wantNSCC(t, "fi at 400 Gbit/s", k.fair, 5*nsccMTU*400/150, 1)
	wantNSCC(t, "target at 8 us", k.target, float64(6*us), 1)
	p.Trimming = false
	k = p.constants(100*gbps, 12*us, nsccMTU)
	wantNSCC(t, "target without trimming", k.target, float64(12*us), 1)
	wantNSCC(t, "threshold without trimming", k.threshold, float64(48*us), 1)
}

// CanSend: a packet of the MTU must fit below the window.
func TestNSCCSendRule(t *testing.T) {
	c := newTestNSCC()
	c.cwnd = 2 * nsccMTU
	for i, want := range []bool{true, true, false} {
		if c.MaySend() != want {
			t.Errorf("packet %d: may send %v", i, !want)
		}
		c.Sent(nsccMTU)
	}
}

// §11 point 1: below the target, one window of ACKs at delay d adds 4·MTU·a·b·(1 - d/target).
func TestNSCCProportionalIncrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd = 100_000
	c.feed(us, 3*us, 100_000, false)
	c.fulfil(us)
	wantNSCC(t, "window", c.cwnd, 100_000+4*nsccMTU*0.75*(1-3.0/9), 400)
}

// §11 point 2: at and above the target without a mark, one window of ACKs adds 5·MTU·a.
func TestNSCCFairIncrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd = 100_000
	c.feed(us, 9*us, 100_000, false)
	c.fulfil(us)
	wantNSCC(t, "window", c.cwnd, 100_000+5*nsccMTU, 2100) // the window grows meanwhile
}

// eta is added once per period, whatever the quadrant.
func TestNSCCEtaPerPeriod(t *testing.T) {
	c := newTestNSCC(noAdapt)
	c.cwnd = 100_000
	c.feed(12*us, us, 1000, true) // marked below the target: nothing but eta
	wantNSCC(t, "after a period", c.cwnd, 100_624, 1)
	c.feed(13*us, us, 1000, true)
	wantNSCC(t, "within the next", c.cwnd, 100_624, 1)
}

// §11 point 3: marks at a steady delay of 2 targets: factor 0.6, once per base RTT.
func TestNSCCMultiplicativeDecrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd, c.average = 100_000, float64(18*us)
	c.feed(13*us, 18*us, 20_000, true)
	wantNSCC(t, "one RTT", c.cwnd, 60_000, 1)
	c.feed(25*us, 18*us, 20_000, true)
	wantNSCC(t, "not yet a base RTT later", c.cwnd, 60_000, 1)
	c.feed(26*us, 18*us, 20_000, true)
	wantNSCC(t, "the next RTT", c.cwnd, 36_000, 1)
}

// §11 point 4: whatever the delay, one decrease keeps half of the window.
func TestNSCCLargestDecrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd = 100_000
	c.feed(13*us, unit.Second, 1000, true)
	wantNSCC(t, "window", c.cwnd, 50_000, 1)
}

// The average must exceed the target too.
func TestNSCCDecreaseNeedsTheAverage(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd, c.sampled = 100_000, 13*us
	c.feed(13*us, 18*us, 1000, true) // the sample has no weight yet
	wantNSCC(t, "window", c.cwnd, 100_000, 1)
}

// A mark below the target changes nothing.
func TestNSCCMarkBelowTheTarget(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd = 100_000
	c.feed(13*us, 8*us, 50_000, true)
	wantNSCC(t, "window", c.cwnd, 100_000, 1)
}

// Below 1 us, after one window of bytes the window grows by a quarter of the acknowledged bytes.
func TestNSCCFastIncrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.p.Proportional, c.k.alpha = 0, 0
	c.cwnd = 50_000
	c.feed(us, 0, 50_000, false)
	wantNSCC(t, "the first window", c.cwnd, 50_000, 1)
	c.feed(2*us, 0, 40_000, false)
	wantNSCC(t, "the next 40 KB", c.cwnd, 60_000, 1)
	c.feed(3*us, us, 1000, false)
	if c.fast || c.fastSeen != 0 {
		t.Error("a delay does not end the fast increase")
	}
}

// §11 point 6: a penalty of 64 in all ACKs of one RTT halves the window; the window before it is
// restored on request.
func TestNSCCPenalty(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd, c.inFlight = 100_000, 100_000
	for range 100 {
		c.Acked(us, NSCCAck{Newly: 1000, RTT: 15 * us, Penalty: 64})
		c.Sent(1000)
	}
	wantNSCC(t, "half", c.cwnd, 50_000, 1)
	c.Acked(us, NSCCAck{Newly: 1000, Restore: true})
	wantNSCC(t, "restored", c.cwnd, 100_000, 1)
}

// §11 point 5: N equal senders into one link each achieve 1.75 BDP / N in a period of quick adapt.
// That is below 1.5 BDP / 8 from N = 10 on; without trimming (2 BDP / N) from 11 on.
func TestNSCCQuickAdaptFiresFromTenSendersOn(t *testing.T) {
	for _, trimming := range []bool{true, false} {
		first := 0
		for n := 1; n <= 20 && first == 0; n++ {
			c := newTestNSCC(func(p *NSCCParams) { p.Trimming = trimming })
			c.Acked(us, NSCCAck{RTT: 12 * us}) // begins the first period
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
		if want := map[bool]int{true: 10, false: 11}[trimming]; first != want {
			t.Errorf("trimming %v: quick adapt from %d senders on, want %d", trimming, first, want)
		}
	}
}

// Quick adapt fires at most once per base RTT + target, and not in the first period. Marked ACKs
// of bytes that were in flight are ignored.
func TestNSCCQuickAdaptOncePerPeriod(t *testing.T) {
	c := newTestNSCC()
	c.Sent(100_000)
	c.Trimmed(us, nsccMTU, 0, false) // begins the first period
	wantNSCC(t, "first NACK", c.cwnd, 225_000-nsccMTU, 1)
	c.Trimmed(22*us, nsccMTU, 0, false)
	if c.cwnd != nsccMTU {
		t.Errorf("window %v after a period in which nothing arrived, want an MTU", c.cwnd)
	}
	c.cwnd = 50_000
	c.feed(35*us, 30*us, 1000, true)
	wantNSCC(t, "marked ACK of bytes in flight", c.cwnd, 50_000, 1)
	c.Trimmed(36*us, nsccMTU, 0, false)
	wantNSCC(t, "another NACK", c.cwnd, 50_000, 1) // ignored too
}

// With receiver credit, a packet trimmed at the last hop leaves the window as it is.
func TestNSCCTrimAtTheLastHop(t *testing.T) {
	c := newTestNSCC()
	c.Sent(2 * nsccMTU)
	c.Trimmed(us, nsccMTU, 0, true)
	if c.Window() != 225_000 || c.trigger || c.inFlight != nsccMTU {
		t.Errorf("window %s, in flight %v", c.Window(), c.inFlight)
	}
}

// §11 point 7: an inferred loss takes the size of its packet, down to one MTU.
func TestNSCCInferredLoss(t *testing.T) {
	c := newTestNSCC()
	c.Lost(nsccMTU)
	wantNSCC(t, "window", c.cwnd, 225_000-nsccMTU, 1)
	for range 100 {
		c.Lost(nsccMTU)
	}
	if c.Window() != nsccMTU {
		t.Errorf("window %s, want one MTU", c.Window())
	}
}

// The base RTT only falls; the largest window falls with it.
func TestNSCCBaseRTTFalls(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.Acked(us, NSCCAck{Newly: 1000, RTT: 8 * us, Marked: true})
	wantNSCC(t, "largest window", c.k.most, 150_000, 1)
	c.Acked(2*us, NSCCAck{Newly: 1000, RTT: 12 * us, Marked: true})
	if c.base != float64(8*us) {
		t.Errorf("base RTT %v", c.base)
	}
}

// An ACK without a valid sample counts bytes, and changes the window no further.
func TestNSCCNeedsASample(t *testing.T) {
	c := newTestNSCC()
	c.cwnd, c.inFlight = 100_000, 10_000
	c.Acked(20*us, NSCCAck{Newly: 10_000})
	if c.cwnd != 100_000 || c.inFlight != 0 || c.achieved != 10_000 {
		t.Errorf("window %v, in flight %v, achieved %v", c.cwnd, c.inFlight, c.achieved)
	}
}
