package cc

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// qcn returns the reaction point of a flow at the given rate, without a floor.
func qcn(rate unit.Rate) *QCN {
	p := DefaultQCN()
	p.MinRate = 0
	return NewQCN(p, line, rate)
}

func cnm(feedback uint8) Signal { return Signal{Kind: CNM, Feedback: feedback} }

func sentKB(c *QCN, kb unit.Bytes) { c.Handle(0, Signal{Kind: Sent, Bytes: kb * unit.Kilobyte}) }

// PCN-2: the defaults of the managed objects of IEEE 802.1Qau.
func TestQCNPublishedConstants(t *testing.T) {
	p := DefaultQCN()
	if p.GD != 1.0/128 || p.MaxCut != 0.5 || p.Timer != 15*unit.Millisecond || p.ByteCounter != 150*unit.Kilobyte ||
		p.Threshold != 5 || p.AI != 5*unit.MegabitPerSec || p.HAI != 50*unit.MegabitPerSec || p.MinRate != 5*unit.MegabitPerSec {
		t.Errorf("%+v", p)
	}
	if n := QCNPresets[1]; n.Timer != 1500*us || n.MinRate != 100*unit.MegabitPerSec || n.AI != p.AI || n.HAI != p.HAI ||
		n.ByteCounter != p.ByteCounter || n.GD != p.GD || n.MaxCut != p.MaxCut || n.Threshold != p.Threshold {
		t.Errorf("ns3-rdma: %+v", n)
	}
	for _, p := range QCNPresets {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestQCNStartsAtLineRate(t *testing.T) {
	a, err := New("qcn", Default(), Path{Rate: line}, 0)
	if err != nil || a.Rate() != line || a.Window() != NoWindow {
		t.Fatalf("begins at %v (%v)", a.Rate(), err)
	}
	a.Handle(0, Signal{Kind: Sent, Bytes: unit.Megabyte})
	a.Handle(0, marked)
	a.Handle(0, cnm(0))
	if _, timer := a.Next(); timer || a.Rate() != line {
		t.Errorf("rate %v, timer %v before the first CNM", a.Rate(), timer)
	}
}

// rate := rate·(1 - Gd·Fb), Gd 1/128.
func TestQCNCutsByTheFeedback(t *testing.T) {
	for feedback, want := range map[uint8]float64{1: 20e9 * 127 / 128, 16: 17.5e9, 32: 15e9, 63: 20e9 * 65 / 128} {
		c := qcn(20 * gbps)
		c.Handle(0, cnm(feedback))
		rateIs(t, "rate", c, want)
		within(t, "target", c.target, 20e9, 0)
	}
}

// PCN-11: at most half in one step (rpgMinDecFac 50 %), which a larger Gd
// reaches.
func TestQCNCutsAtMostHalf(t *testing.T) {
	p := DefaultQCN()
	p.GD = 1.0 / 64
	c := NewQCN(p, line, 20*gbps)
	c.Handle(0, cnm(63))
	rateIs(t, "rate", c, 10e9)
}

// A CNM in a first cycle leaves the target unchanged; one after it sets the
// target to the rate.
func TestQCNTargetAfterConsecutiveCNMs(t *testing.T) {
	c := qcn(20 * gbps)
	c.Handle(0, cnm(32))
	sentKB(c, 149)
	c.Handle(0, cnm(32))
	rateIs(t, "two CNMs", c, 11.25e9)
	within(t, "target", c.target, 20e9, 0)
	sentKB(c, 150)
	rateIs(t, "a cycle", c, 15.625e9)
	c.Handle(0, cnm(32))
	within(t, "target after a cycle", c.target, 15.625e9, 0)
}

// PCN-12: halfway to the stored target first, and then by a constant.
// Fast recovery takes half of the way to the target for each 150 KB; from the
// fifth cycle on the target rises by 5 Mbit/s, and a cycle has 75 KB.
func TestQCNFastRecoveryAndActiveIncrease(t *testing.T) {
	c := qcn(20 * gbps)
	c.Handle(0, cnm(32))
	for _, want := range []float64{17.5e9, 18.75e9, 19.375e9, 19.6875e9} {
		sentKB(c, 149)
		sentKB(c, 1)
		rateIs(t, "fast recovery", c, want)
	}
	sentKB(c, 150)
	rateIs(t, "active increase", c, 19.84625e9)
	sentKB(c, 74)
	rateIs(t, "74 KB on", c, 19.84625e9)
	sentKB(c, 1)
	rateIs(t, "75 KB on", c, 19.928125e9)
	within(t, "target", c.target, 20.01e9, 0)
}

// The timer takes the same steps, every 15 ms and after fast recovery every 7.5 ms.
func TestQCNTimer(t *testing.T) {
	c := qcn(20 * gbps)
	c.Handle(0, cnm(32))
	for n, want := range []float64{17.5e9, 18.75e9, 19.375e9, 19.6875e9, 19.84625e9, 19.928125e9} {
		at := unit.Time(min(n+1, 5))*15*unit.Millisecond + unit.Time(max(n-4, 0))*7500*us
		if next, ok := c.Next(); !ok || next != at {
			t.Fatalf("cycle %d ends at %s, want %s", n+1, next, at)
		}
		c.Tick(at)
		rateIs(t, "rate", c, want)
	}
}

// Hyper-active increase after both counters have reached the fifth cycle:
// target += i·50 Mbit/s.
func TestQCNHyperActiveIncrease(t *testing.T) {
	c := qcn(20 * gbps)
	c.Handle(0, cnm(32))
	c.byteStage, c.timeStage, c.rate, c.target = 5, 4, 20e9, 20e9
	c.Tick(c.due)
	rateIs(t, "both at 5: i = 1", c, 20.025e9)
	sentKB(c, 150)
	rateIs(t, "bytes to 6: i = 1", c, 20.0625e9)
	c.Tick(c.due)
	rateIs(t, "both at 6: i = 2", c, 20.13125e9)
}

// A first cycle with a target above ten times the rate divides the target by
// eight, before the mean.
func TestQCNShrinksAFarTarget(t *testing.T) {
	c := qcn(32 * gbps)
	for range 6 {
		c.Handle(0, cnm(63))
	}
	rate := 32e9 * math.Pow(65.0/128, 6)
	rateIs(t, "after six CNMs", c, rate)
	sentKB(c, 150)
	within(t, "target", c.target, 4e9, 0)
	rateIs(t, "after a cycle", c, (rate+4e9)/2)
	sentKB(c, 150)
	within(t, "target after the second cycle", c.target, 4e9, 0)
}

// A cut stops at the floor of 5 Mbit/s.
func TestQCNFloor(t *testing.T) {
	c := NewQCN(DefaultQCN(), line, line)
	for range 100 {
		c.Handle(0, cnm(63))
	}
	rateIs(t, "floor", c, 5e6)
}

// For any input the rate stays in (0, line], no CNM raises it, and no cycle
// lowers it.
func TestQCNStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewQCN(DefaultQCN(), line, line)
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			before := c.rate
			switch rapid.IntRange(0, 2).Draw(t, "event") {
			case 0:
				c.Handle(0, cnm(uint8(rapid.IntRange(1, 63).Draw(t, "feedback"))))
				if c.rate > before {
					t.Fatalf("a CNM raises %v to %v", before, c.rate)
				}
				continue
			case 1:
				sentKB(c, unit.Bytes(rapid.IntRange(1, 300).Draw(t, "KB")))
			case 2:
				if at, ok := c.Next(); ok {
					c.Tick(at)
				}
			}
			if c.rate < before && c.target >= before || c.Rate() <= 0 || c.Rate() > line {
				t.Fatalf("from %v to %v, target %v", before, c.rate, c.target)
			}
		}
	})
}

func TestQCNValidateNamesTheInvalidParameter(t *testing.T) {
	for _, bad := range []func(*QCNParams){
		func(p *QCNParams) { p.GD = 0 },
		func(p *QCNParams) { p.MaxCut = 1 },
		func(p *QCNParams) { p.Timer = 0 },
		func(p *QCNParams) { p.ByteCounter = -1 },
		func(p *QCNParams) { p.Threshold = 0 },
		func(p *QCNParams) { p.AI = -1 },
	} {
		p := DefaultQCN()
		bad(&p)
		if p.Validate() == nil || (Params{QCN: p}).Validate("qcn") == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}
