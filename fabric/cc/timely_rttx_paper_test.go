package cc

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// rttx returns the reaction point of a flow of 10 Gbit/s under timely-rttx.
func rttx(t *testing.T, change func(*TIMELYParams)) *TIMELY {
	t.Helper()
	p := Default()
	p.TIMELYRTTX.Delta = 0 // so that only cuts change the rate
	if change != nil {
		change(&p.TIMELYRTTX)
	}
	a, err := New("timely-rttx", p, Path{Rate: line}, 10*gbps)
	if err != nil {
		t.Fatal(err)
	}
	return a.(*TIMELY)
}

// feed passes n samples of the RTT, one per ACK.
func feed(c Algorithm, n int, rtt unit.Time) {
	for range n {
		c.Handle(0, Signal{Kind: Ack, Bytes: 1000, RTT: rtt})
	}
}

// RTTX-1, RTTX-61: the sender runs unmodified TIMELY only; the switches mark
// and rewrite, and the receiver sends only ACKs with timestamps.
func TestRTTXSender(t *testing.T) {
	s, err := Find("timely-rttx")
	if err != nil || s.Marking != MarkRED || s.Rewrite != RewriteRTTX || s.Notification != NotifyNone || !s.Timestamps {
		t.Errorf("%+v, %v", s, err)
	}
	if c := rttx(t, nil); c.p.EWMA != 0.02 || c.p.Beta != 0.8 {
		t.Errorf("%+v", c.p)
	}
	// The rack's settings are the authors' except for thresholds and sampling.
	rack, authors := DefaultTIMELYRTTX(), timelyPreset("authors")
	authors.Preset, authors.TLow, authors.THigh = rack.Preset, rack.TLow, rack.THigh
	authors.Segment, authors.Burst = rack.Segment, rack.Burst
	if rack != authors {
		t.Errorf("rack %+v, authors %+v", rack, authors)
	}
}

// RTTX-56: a larger RTT lowers the rate or keeps it from rising; a CNP has no
// effect.
func TestRTTXSenderReactsToRTTOnly(t *testing.T) {
	c := rttx(t, nil)
	feed(c, 3, 30*us)
	c.Handle(0, Signal{Kind: CNP, Marked: true})
	if c.Rate() != 10*gbps {
		t.Errorf("rate %s after steady RTTs and a CNP", c.Rate())
	}
	feed(c, 1, 31*us)
	if c.Rate() >= 10*gbps {
		t.Errorf("rate %s after a longer RTT", c.Rate())
	}
	// With an increase to suppress: a rate that would rise by delta does not.
	rises, steady := rttx(t, func(p *TIMELYParams) { p.Delta = 10 * unit.MegabitPerSec }), rttx(t, nil)
	feed(rises, 2, 30*us)
	feed(steady, 2, 30*us)
	feed(steady, 1, 30*us+unit.Nanosecond)
	if rises.Rate() <= 10*gbps || steady.Rate() > 10*gbps {
		t.Errorf("rates %s and %s", rises.Rate(), steady.Rate())
	}
}

// RTTX-55: below T_low an increment has no effect at all: with the published 50
// us an RTT of 31 us may grow by D at no cost. With T_low = 0 it has an effect.
func TestIncrementBelowTLowHasNoEffect(t *testing.T) {
	for tLow, want := range map[unit.Time]bool{50 * us: false, 0: true} {
		c := rttx(t, func(p *TIMELYParams) { p.TLow = tLow })
		feed(c, 1, 31*us)
		feed(c, 1, 33*us)
		if cut := c.Rate() < 10*gbps; cut != want {
			t.Errorf("T_low %s: cut %v, want %v", tLow, cut, want)
		}
	}
}

// RTTX-55: a constant increment lowers the rate only at its onset. A step of 1
// us costs b/minRTT = 4 % in all, spread by the EWMA over some 50 samples
// (0.875 cuts 3.5 % at once: see TestTIMELYPositiveGradient).
func TestConstantIncrementCutsOnce(t *testing.T) {
	c := rttx(t, nil)
	feed(c, 1, 30*us)
	feed(c, 1, 31*us)
	within(t, "first sample", c.rate, 10e9*(1-0.8*0.02/20), 1)
	feed(c, 500, 31*us)
	within(t, "500 samples", c.rate/10e9, 0.96, 0.001)
	settled := c.rate
	feed(c, 500, 31*us)
	within(t, "500 more", c.rate/settled, 1, 1e-5)
	// When the increment ends, the gradient is negative and nothing is cut.
	feed(c, 500, 30*us)
	within(t, "without it", c.rate/settled, 1, 1e-5)
}

// RTTX-54: the increment replaces a cut by ECN of similar strength. DCQCN's cut
// in steady state grows with e, by e/2, but table 1 doubles where that is
// linear. With D set for equality at e = 1, b·D/minRTT = 1/2, the lower levels
// cut less: 6, 12, 22 and 39 % against 15, 25, 35 and 45 % in the middle of
// each class.
func TestIncrementAgainstACutByECN(t *testing.T) {
	const d = 12500 * unit.Nanosecond
	for _, row := range []struct {
		increment unit.Time
		cut, ecn  float64
	}{{d / 8, 0.06, 0.15}, {d / 4, 0.12, 0.25}, {d / 2, 0.22, 0.35}, {d, 0.39, 0.45}} {
		c := rttx(t, nil)
		feed(c, 1, 30*us)
		feed(c, 1000, 30*us+row.increment)
		cut := 1 - c.rate/10e9
		within(t, row.increment.String(), cut, row.cut, 0.005)
		if cut >= row.ecn {
			t.Errorf("increment %s cuts %.2f, ECN would %.2f", row.increment, cut, row.ecn)
		}
	}
}

// RTTX-16: without a common clock every sample contains a constant offset.
// Differences of samples change the rate, so the offset has no effect as long
// as all samples are within T_low to T_high.
func TestConstantClockOffsetHasNoEffect(t *testing.T) {
	synchronised, skewed := rttx(t, nil), rttx(t, nil)
	for _, rtt := range []unit.Time{30, 31, 33, 33, 32, 30, 35, 30} {
		feed(synchronised, 1, rtt*us)
		feed(skewed, 1, (rtt+60)*us)
		if synchronised.rate != skewed.rate {
			t.Fatalf("rates %v and %v", synchronised.rate, skewed.rate)
		}
	}
}

// RTTX-14: the response to an RTT probe is a sample by itself, without an ACK that completes a
// segment. With a sample per RTT it counts once a packet sent since then is acknowledged.
func TestSampleOfAProbe(t *testing.T) {
	c := rttx(t, func(p *TIMELYParams) { p.Segment = 64 * unit.Kilobyte })
	probed := func(rtt unit.Time) unit.Rate {
		c.Handle(0, Signal{Kind: Probe, RTT: rtt, InFlight: 5000})
		return c.Rate()
	}
	probed(30 * unit.Microsecond)
	if rate := probed(40 * unit.Microsecond); rate >= 10*gbps {
		t.Errorf("%v after an RTT that rose by 10us", rate)
	}
	c = rttx(t, func(p *TIMELYParams) { p.OncePerRTT = true })
	for range 3 {
		c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: 5000})
	}
	probed(30 * unit.Microsecond)
	if rate := probed(40 * unit.Microsecond); rate != 10*gbps {
		t.Errorf("%v by a second sample in one RTT", rate)
	}
	c.Handle(0, Signal{Kind: Ack, Bytes: 6000, InFlight: 5000})
	if rate := probed(40 * unit.Microsecond); rate >= 10*gbps {
		t.Errorf("%v by the sample of the next RTT", rate)
	}
}
