package cc

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	gbps = unit.GigabitPerSec
)

var marked = Signal{Kind: CNP, Marked: true}

// dcqcnPreset returns the published settings of that name.
func dcqcnPreset(name string) DCQCNParams {
	i := slices.IndexFunc(DCQCNPresets, func(p DCQCNParams) bool { return p.Preset == name })
	return DCQCNPresets[i]
}

// dcqcn returns the paper's reaction point of a flow at the given rate, on a
// line of 40 Gbit/s and without a floor.
func dcqcn(rate unit.Rate) *DCQCN {
	p := DefaultDCQCN()
	p.MinRate = 0
	return NewDCQCN(p, line, rate)
}

// tickTo runs the timers that are due by end.
func tickTo(a Algorithm, end unit.Time) {
	for at, ok := a.Next(); ok && at <= end; at, ok = a.Next() {
		a.Tick(at)
	}
}

func rateIs(t *testing.T, what string, a Algorithm, want float64) {
	t.Helper()
	within(t, what, float64(a.Rate()), want, 1)
}

// PCN-2: the published settings: g 1/256, K and the timer 55 us, byte counter
// 10 MB, F 5, R_AI 40 Mbit/s, alpha 1, a CNP per 50 us (DCQCN §5, table of
// parameters). connectx: the defaults of the firmware. ns3-rdma: its sample file.
func TestDCQCNPublishedConstants(t *testing.T) {
	p := DefaultDCQCN()
	if p.G != 1.0/256 || p.AlphaTimer != 55*us || p.Timer != 55*us || p.ByteCounter != 10*unit.Megabyte ||
		p.Threshold != 5 || p.AI != 40*unit.MegabitPerSec || p.Alpha != 1 || p.CNPInterval != 50*us || p.CutPeriod != 0 {
		t.Errorf("paper: %+v", p)
	}
	if p.HAI != 200*unit.MegabitPerSec || p.MinRate != 100*unit.MegabitPerSec {
		t.Errorf("paper: %+v", p)
	}
	c := dcqcnPreset("connectx")
	if c.G != 5.0/1024 || c.Alpha != 1023.0/1024 || c.CNPInterval != 4*us || c.Timer != 300*us || c.Threshold != 1 || c.AI != 5*unit.MegabitPerSec || c.HAI != 50*unit.MegabitPerSec ||
		c.AlphaTimer != 1*us || c.CutPeriod != 4*us || c.MinRate != 1*unit.MegabitPerSec {
		t.Errorf("connectx: %+v", c)
	}
	n := dcqcnPreset("ns3-rdma")
	if n.G != 1.0/256 || n.Alpha != 0.5 || n.AlphaTimer != 55*us || n.Timer != 60*us || n.ByteCounter != 300*unit.Megabyte ||
		n.Threshold != 5 || n.MinRate != 100*unit.MegabitPerSec || n.CNPInterval != 50*us || n.AI != 40*unit.MegabitPerSec || n.HAI != 200*unit.MegabitPerSec || !n.CNPClocked {
		t.Errorf("ns3-rdma: %+v", n)
	}
	for _, p := range DCQCNPresets {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// §3.1: the sender begins at line rate, and only CNPs cut it.
func TestDCQCNStartsAtLineRate(t *testing.T) {
	a, err := New("dcqcn", Default(), Path{Rate: line}, 0)
	if err != nil || a.Rate() != line || a.Window() != NoWindow {
		t.Fatalf("begins at %v (%v)", a.Rate(), err)
	}
	if _, timer := a.Next(); timer {
		t.Error("a timer runs before the first CNP")
	}
	a.Handle(1, Signal{Kind: Sent, Bytes: 100 * unit.Megabyte})
	a.Handle(2, Signal{Kind: Ack, Bytes: 1000, RTT: 1})
	a.Handle(3, Signal{Kind: CNP})
	if a.Rate() != line {
		t.Errorf("moved to %v", a.Rate())
	}
}

// PCN-11: the cut is at most half of the rate.
// Equation 1: target := rate, rate := rate·(1 - alpha/2), alpha := (1-g)·alpha + g.
// With alpha 1 the first CNP halves the rate, and alpha stays 1 under CNPs that
// come within K.
func TestDCQCNCut(t *testing.T) {
	c := dcqcn(20 * gbps)
	for k, want := range []float64{10e9, 5e9, 2.5e9} {
		c.Handle(unit.Time(k)*50*us, marked)
		rateIs(t, "rate", c, want)
		within(t, "target", c.target, 2*want, 0)
		within(t, "alpha", c.alpha, 1, 1e-15)
	}
}

// Equation 1: alpha after k CNPs from 0 is 1 - (1 - g)^k.
func TestDCQCNAlphaAfterCNPs(t *testing.T) {
	c := dcqcn(line)
	c.alpha = 0
	// 1 - (255/256)^k by hand.
	want := map[int]float64{1: 0.00390625, 2: 0.0077972412109375, 3: 0.011673033237457, 10: 0.0383817, 177: 0.4998, 1000: 0.98003}
	for k := 1; k <= 1000; k++ {
		c.Handle(unit.Time(k)*50*us, marked)
		if w, ok := want[k]; ok {
			within(t, "alpha", c.alpha, w, 1e-4*w)
		}
	}
}

// Equation 2: alpha := (1 - g)·alpha for every K of 55 us without a CNP. The cut
// that follows is alpha/2.
func TestDCQCNAlphaDecays(t *testing.T) {
	for _, c := range []struct {
		after unit.Time
		ks    float64
	}{{55*us - 1, 0}, {55 * us, 1}, {109 * us, 1}, {110 * us, 2}, {5500 * us, 100}, {unit.Second, 18181}} {
		a := dcqcn(line)
		a.Handle(0, marked)
		alpha := math.Pow(255.0/256, c.ks)
		a.rate = 30e9
		a.Handle(c.after, marked)
		rateIs(t, c.after.String(), a, 30e9*(1-alpha/2))
		within(t, "alpha", a.alpha, alpha*255/256+1.0/256, 1e-12)
	}
}

// PCN-12: halfway to the stored target first, and then by a constant.
// Equation 3: in fast recovery the target stays, and rate := (rate + target)/2.
// Equation 4: then target += R_AI before the mean, by the timer alone, as the byte
// counter has not come so far.
func TestDCQCNFastRecoveryAndAdditiveIncrease(t *testing.T) {
	c := dcqcn(20 * gbps)
	c.Handle(0, marked)
	for n, want := range []float64{15e9, 17.5e9, 18.75e9, 19.375e9, 19.7075e9, 19.89375e9, 20.006875e9} {
		at := unit.Time(n+1) * 55 * us
		if next, ok := c.Next(); !ok || next != at {
			t.Fatalf("cycle %d ends at %s, want %s", n+1, next, at)
		}
		c.Tick(at - 1)
		c.Tick(at)
		rateIs(t, "rate", c, want)
	}
	within(t, "target", c.target, 20.12e9, 0)
}

// Fig. 7: the byte counter takes the same steps as the timer, one per 10 MB on
// the wire.
func TestDCQCNByteCounter(t *testing.T) {
	c := dcqcn(20 * gbps)
	c.Handle(0, marked)
	c.Handle(1, Signal{Kind: Sent, Bytes: 10*unit.Megabyte - 1})
	rateIs(t, "a byte early", c, 10e9)
	c.Handle(1, Signal{Kind: Sent, Bytes: 1})
	rateIs(t, "after 10 MB", c, 15e9)
	c.Handle(1, Signal{Kind: Sent, Bytes: 10 * unit.Megabyte})
	rateIs(t, "after 20 MB", c, 17.5e9)
}

// Fig. 7: fast recovery while both counters are below F, hyper increase when both
// are not: target += i·R_HAI, i counting from 1.
func TestDCQCNHyperIncrease(t *testing.T) {
	c := dcqcn(20 * gbps)
	c.Handle(0, marked)
	timer := func() { at, _ := c.Next(); c.Tick(at) }
	bytes := func() { c.Handle(0, Signal{Kind: Sent, Bytes: 10 * unit.Megabyte}) }
	for range 4 {
		timer()
	}
	for range 4 {
		bytes()
	}
	rateIs(t, "fast recovery", c, 19.9609375e9)
	for _, step := range []struct {
		name string
		come func()
		want float64
	}{
		{"timer to 5, bytes at 4: additive", timer, 20.00046875e9},
		{"both at 5: hyper, i = 1", bytes, 20.120234375e9},
		{"timer to 6, bytes at 5: i = 1", timer, 20.2801171875e9},
		{"both at 6: i = 2", bytes, 20.56005859375e9},
	} {
		step.come()
		rateIs(t, step.name, c, step.want)
	}
}

// Fig. 7: a CNP resets both counters and restarts the timer.
func TestDCQCNCNPRestartsTheCounters(t *testing.T) {
	c := dcqcn(20 * gbps)
	c.Handle(0, marked)
	tickTo(c, 50*55*us)
	c.Handle(50*55*us+20*us, Signal{Kind: Sent, Bytes: 9 * unit.Megabyte})
	c.Handle(50*55*us+30*us, marked)
	if at, _ := c.Next(); at != 51*55*us+30*us || c.byteStage != 0 || c.timeStage != 0 || c.left != 10*unit.Megabyte {
		t.Errorf("timer at %s, stages %d and %d, %s left", at, c.byteStage, c.timeStage, c.left)
	}
}

// The rate returns to line rate and stays there; the timer stops.
func TestDCQCNStopsItsTimersAtLineRate(t *testing.T) {
	c := dcqcn(line)
	c.Handle(0, marked)
	tickTo(c, 100*unit.Millisecond)
	if _, timer := c.Next(); timer || c.Rate() != line {
		t.Errorf("rate %v, timer %v", c.Rate(), timer)
	}
	c.Handle(unit.Second, marked)
	if _, timer := c.Next(); !timer {
		t.Error("no timer after another CNP")
	}
}

// PCN-12: a step in bits per second fits one link speed: DCQCN's 40 Mbit/s per 55 us
// bring a flow from a twentieth of its link to 95 % within 2 ms at 1 Gbit/s, in 50 ms
// at 40 Gbit/s and in 125 ms at 100 Gbit/s.
func TestDCQCNStepFitsOneLinkSpeed(t *testing.T) {
	for link, want := range map[unit.Rate]unit.Time{gbps: 1595 * us, 40 * gbps: 49500 * us, 100 * gbps: 124 * unit.Millisecond} {
		p := DefaultDCQCN()
		p.ByteCounter = 0 // the timer only
		c := NewDCQCN(p, link, link/20)
		c.Handle(0, marked)
		c.target = c.rate
		at, ok := c.Next()
		for ; ok && c.Rate() < link*95/100; at, ok = c.Next() {
			c.Tick(at)
		}
		if at < want*95/100 || at > want*105/100 {
			t.Errorf("a link of %s is taken back in %s, want about %s", link, at, want)
		}
	}
}

// A byte counter of 0 is disabled: only the timer raises the rate.
func TestDCQCNWithoutByteCounter(t *testing.T) {
	p := DefaultDCQCN()
	p.ByteCounter = 0
	c := NewDCQCN(p, line, line)
	c.Handle(0, marked)
	c.Handle(1, Signal{Kind: Sent, Bytes: 1000 * unit.Megabyte})
	rateIs(t, "after a gigabyte", c, 20e9)
	tickTo(c, 55*us)
	rateIs(t, "after a cycle of the timer", c, 30e9)
}

// PCN-11: a flow of tiny throughput has periods of 50 us without a packet, and so
// without a CNP, in which its rate rises although every packet of it is marked. At 10
// Mbit/s a packet of 1000 bytes is 800 us after the one before; the timer of 55 us
// raises the rate in between to more than it was before the cut. At 1 Gbit/s no
// period is without a packet, and the rate only falls.
func TestDCQCNRaisesATinyFlowWithoutPackets(t *testing.T) {
	for rate, rises := range map[unit.Rate]bool{10 * unit.MegabitPerSec: true, gbps: false} {
		p := DefaultDCQCN()
		p.MinRate = 0
		c, n := NewDCQCN(p, line, rate), NewDCQCNNotifier(p)
		for now := unit.Time(0); now < 2*unit.Millisecond; now += rate.Serialise(1000) {
			if at, ok := n.Next(); ok && at <= now && n.Tick(at) {
				tickTo(c, at)
				c.Handle(at, marked)
			}
			tickTo(c, now)
			if n.Packet(now, true) {
				c.Handle(now, marked)
			}
		}
		tickTo(c, 2400*us)
		if got := c.Rate(); (got > rate) != rises {
			t.Errorf("a flow of %s, all of it marked, is at %s after 2.4 ms; want a rise: %v", rate, got, rises)
		}
	}
}

// A cut stops at the floor, and the floor raises no rate.
func TestDCQCNFloor(t *testing.T) {
	c := NewDCQCN(DefaultDCQCN(), line, line)
	for k := range 100 {
		c.Handle(unit.Time(k)*50*us, marked)
	}
	rateIs(t, "floor", c, 100e6)
	c = NewDCQCN(DefaultDCQCN(), line, 50*unit.MegabitPerSec)
	c.Handle(0, marked)
	rateIs(t, "below the floor", c, 50e6)
}

// For any input the rate stays in (0, line] and follows the equations in exact
// fractions.
func TestDCQCNFollowsTheEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := DefaultDCQCN()
		p.MinRate = 0
		c := NewDCQCN(p, line, line)
		rate, target, alpha := big.NewRat(40e9, 1), big.NewRat(40e9, 1), big.NewRat(1, 1)
		g, half, now := big.NewRat(1, 256), big.NewRat(1, 2), unit.Time(0)
		keep := new(big.Rat).Sub(big.NewRat(1, 1), g)
		for range rapid.IntRange(1, 8).Draw(t, "CNPs") {
			c.Handle(now, marked)
			target.Set(rate)
			cut := new(big.Rat).Mul(alpha, half)
			rate.Sub(rate, cut.Mul(cut, rate))
			alpha.Add(new(big.Rat).Mul(alpha, keep), g)
			cycles := rapid.IntRange(0, 4).Draw(t, "cycles")
			for k := range cycles {
				c.Tick(now + unit.Time(k+1)*55*us)
				rate.Mul(rate.Add(rate, target), half)
				alpha.Mul(alpha, keep)
			}
			now += unit.Time(cycles) * 55 * us
			want, _ := rate.Float64()
			if math.Abs(c.rate-want) > 1e-3 || c.Rate() <= 0 || c.Rate() > line {
				t.Fatalf("rate %v, want %v", c.rate, want)
			}
			now += 54 * us
		}
	})
}

func TestDCQCNValidateNamesTheInvalidParameter(t *testing.T) {
	for _, bad := range []func(*DCQCNParams){
		func(p *DCQCNParams) { p.G = 0 },
		func(p *DCQCNParams) { p.G = math.NaN() },
		func(p *DCQCNParams) { p.Alpha = 1.1 },
		func(p *DCQCNParams) { p.AlphaTimer = 0 },
		func(p *DCQCNParams) { p.Timer = 0 },
		func(p *DCQCNParams) { p.CutPeriod = -1 },
		func(p *DCQCNParams) { p.CNPGap = -1 },
		func(p *DCQCNParams) { p.ByteCounter = -1 },
		func(p *DCQCNParams) { p.Threshold = 0 },
		func(p *DCQCNParams) { p.HAI = -1 },
	} {
		p := DefaultDCQCN()
		bad(&p)
		if p.Validate() == nil || (Params{DCQCN: p}).Validate("dcqcn") == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}
