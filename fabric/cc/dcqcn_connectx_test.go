package cc

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// connectx returns ConnectX's reaction point of a flow at the given rate.
func connectx(rate unit.Rate) *ConnectX { return NewConnectX(dcqcnPreset("connectx"), line, rate) }

// HPCC simulator, rdma-hw.cc: no cut at the CNP. The cut clock checks 4 us
// after the first CNP, a nanosecond after the alpha clock, which has checked
// four times.
func TestConnectXCutsByItsClock(t *testing.T) {
	c := connectx(20 * gbps)
	c.Handle(100*us, marked)
	rateIs(t, "at the CNP", c, 20e9)
	at, ok := c.Next()
	if want := 104*us + unit.Nanosecond; !ok || at != want {
		t.Fatalf("looks at %s, want %s", at, want)
	}
	c.Tick(at)
	// One check with a CNP, three without: g = 5/1024.
	const keep = 1019.0 / 1024
	alpha := (1023.0/1024*keep + 5.0/1024) * keep * keep * keep
	rateIs(t, "after the look", c, 20e9*(1-alpha/2))
	within(t, "target", c.target, 20e9, 0)
	if at, _ := c.Next(); at != 104*us+unit.Nanosecond+300*us {
		t.Errorf("the timer expires at %s", at)
	}
}

// Only a CNP that reports congestion starts the cut clock.
func TestConnectXIgnoresOtherSignals(t *testing.T) {
	c := connectx(20 * gbps)
	for _, s := range []Signal{{Kind: CNP}, {Kind: Ack, Marked: true, RTT: us}, {Kind: Sent, Bytes: 1000}, {Kind: CNM, Feedback: 63}} {
		c.Handle(100*us, s)
		if at, ok := c.Next(); ok || c.Rate() != 20*gbps {
			t.Errorf("%+v: rate %s, next look at %s", s, c.Rate(), at)
		}
	}
}

// A period has one cut, whatever the number of CNPs in it; the next period has
// its own.
func TestConnectXCutsOncePerPeriod(t *testing.T) {
	c := connectx(20 * gbps)
	for k := range 8 {
		c.Handle(unit.Time(k)*us, marked)
		tickTo(c, unit.Time(k)*us)
	}
	tickTo(c, 7*us)
	after := c.rate
	if after >= 20e9*0.51 || after <= 20e9*0.49 {
		t.Errorf("one cut gives %v", after)
	}
	tickTo(c, 9*us)
	within(t, "second cut", c.rate/after, 0.5, 0.01)
	if at, ok := c.Next(); !ok || at < 300*us {
		t.Errorf("a third check at %s without a CNP since", at)
	}
}

// stage < F: the target stays; stage = F: R_AI; above: R_HAI, not multiplied.
func TestConnectXIncrease(t *testing.T) {
	c := connectx(20 * gbps)
	c.rate, c.target, c.due = 10e9, 20e9, 300*us
	for n, want := range []float64{15e9, 17.5025e9, 18.77875e9, 19.441875e9} {
		c.Tick(unit.Time(n+1) * 300 * us)
		rateIs(t, "rate", c, want)
	}
	within(t, "target", c.target, 20e9+5e6+50e6+50e6, 0)
}

// CLAMP_TGT_RATE off: a cut sets the target to the rate if the rate has risen
// since the latest cut, and otherwise leaves the target unchanged.
func TestConnectXClampsTheTargetAfterAnIncrease(t *testing.T) {
	c := connectx(20 * gbps)
	c.Handle(0, marked)
	tickTo(c, 5*us)
	c.Handle(6*us, marked)
	tickTo(c, 9*us)
	within(t, "target after two cuts in a row", c.target, 20e9, 0)
	tickTo(c, 309*us)
	risen := c.rate
	c.Handle(310*us, marked)
	tickTo(c, 314*us)
	within(t, "target after an increase and a cut", c.target, risen, 0)
	always := connectx(20 * gbps)
	always.p.ClampTarget = true
	always.Handle(0, marked)
	tickTo(always, 5*us)
	once := always.rate
	always.Handle(6*us, marked)
	tickTo(always, 9*us)
	within(t, "target with the clamp", always.target, once, 0)
}

// The lazy alpha clock matches a clock that checks every period.
func TestConnectXAlphaClockTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := connectx(line)
		first := unit.Time(rapid.Int64Range(0, int64(10*us)).Draw(t, "first"))
		at, alpha, seen, tick := first, c.alpha, false, first+us
		for range rapid.IntRange(1, 30).Draw(t, "CNPs") {
			for ; tick < at; tick += us {
				alpha *= 1019.0 / 1024
				if seen {
					alpha += 5.0 / 1024
				}
				seen = false
			}
			seen = true
			c.Handle(at, marked)
			if math.Abs(c.alpha-alpha) > 1e-12 || c.alphaAt != tick {
				t.Fatalf("at %s: alpha %v, next look %s, want %v and %s", at, c.alpha, c.alphaAt, alpha, tick)
			}
			at += unit.Time(rapid.Int64Range(0, int64(20*us)).Draw(t, "gap"))
		}
	})
}

// The timer's cycle is 75 periods of the cut clock, so that both are due at the
// same instant. HPCC simulator, rdma-hw.cc: simultaneous events run in the
// order in which they were set, so that the timer raises the rate and the cut
// then halves it. With the cut first there is no increase.
func TestConnectXOrderOfCutAndTimer(t *testing.T) {
	after := func(tie Tie, timer unit.Time) (rate, target float64) {
		c := connectx(20 * gbps)
		c.p.Tie, c.p.Timer = tie, timer
		c.Handle(0, marked)
		tickTo(c, 5*us)
		low := c.rate
		c.Handle(timer+3*us, marked) // seen by the check at 4us + timer + 1ns
		tickTo(c, timer+5*us)
		return c.rate / low, c.target / low
	}
	const cut = 0.9 // the rate after a cut by its alpha is below this part of itself
	rate, target := after(TieCut, 300*us)
	if rate > cut || target < 1.9 {
		t.Errorf("cut first: rate %.2f, target %.2f of the rate after the first cut", rate, target)
	}
	raised, clamped := after(TieEarlier, 300*us)
	risen := (1 + target) / 2 // halfway to the target
	within(t, "the increase before the cut", raised/rate, risen, 1e-9)
	within(t, "target, which is the risen rate", clamped, risen, 1e-9)
	// The cut clock was set earlier if its period is not the shorter one.
	same, _ := after(TieEarlier, 4*us)
	first, _ := after(TieCut, 4*us)
	within(t, "a timer as long as the cut period", same, first, 0)
}

// The cut period of the connectx preset selects its reaction point.
func TestPresetChoosesTheReactionPoint(t *testing.T) {
	p := Default()
	p.DCQCN = dcqcnPreset("connectx")
	a, _ := New("dcqcn", p, Path{Rate: line}, 0)
	if _, ok := a.(*ConnectX); !ok {
		t.Errorf("%T", a)
	}
}

// HPCC simulator, run.py --cc dcqcn_paper: t_alpha 50, t_dec 50, t_inc 55, F 1,
// g 1/256, steps of 5·bw/25 and 50·bw/25 Mb/s, a floor of 1000 Mb/s. In
// rdma-hw.cc, every ACK carries a mark, and the clock that was set earlier runs
// first.
func TestDCQCNPaperOfTheHPCCSimulator(t *testing.T) {
	p := dcqcnPreset("dcqcn_paper")
	if p.AlphaTimer != 50*us || p.CutPeriod != 50*us || p.Timer != 55*us || p.Threshold != 1 || p.G != 1.0/256 ||
		p.Alpha != 1 || p.MinRate != gbps || p.CNPInterval != 0 || p.Tie != TieEarlier || p.ClampTarget {
		t.Errorf("%+v", p)
	}
	c := NewConnectX(p, line, 20*gbps)
	for now := unit.Time(0); now < 200*us; now += us {
		tickTo(c, now)
		c.Handle(now, marked)
		// Alpha stays 1 while every check of its clock sees a mark.
		rateIs(t, now.String(), c, 20e9/float64(int(1)<<((now-unit.Nanosecond)/(50*us))))
	}
}

// The steps of the preset are for 25 Gbit/s and scale with the link's rate;
// those of the other presets do not.
func TestDCQCNStepsGrowWithTheLink(t *testing.T) {
	for preset, want := range map[string][2]float64{"dcqcn_paper": {8e6, 80e6}, "paper": {40e6, 200e6}, "connectx": {5e6, 50e6}} {
		p := dcqcnPreset(preset)
		if ai, hai := p.steps(line); ai != want[0] || hai != want[1] {
			t.Errorf("%s at 40 Gbit/s: %v and %v, want %v", preset, ai, hai, want)
		}
	}
	p := dcqcnPreset("dcqcn_paper")
	c := NewConnectX(p, line, line)
	c.target, c.rate, c.stage = 10e9, 10e9, 1
	c.increase()
	rateIs(t, "additive", c, 10e9+8e6/2)
	p.CutPeriod = 0
	d := NewDCQCN(p, line, line)
	if d.ai != 8e6 || d.hai != 80e6 {
		t.Errorf("the paper's reaction point: %v and %v", d.ai, d.hai)
	}
}
