package cc

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

const line = 40 * unit.GigabitPerSec

// from returns a reaction point without a floor for a flow at the given rate.
func from(rate unit.Rate) *PCN {
	p := DefaultPCN()
	p.MinRate = 0
	return NewPCN(p, line, rate)
}

func congested(recRate unit.Rate) Signal { return Signal{Kind: CNP, Marked: true, RecRate: recRate} }

var clear40 = Signal{Kind: CNP, RecRate: 40 * unit.GigabitPerSec}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v within %v", what, got, want, tolerance)
	}
}

// PCN-44: a flow starts at line rate.
func TestFlowStartsAtLineRate(t *testing.T) {
	a, err := New("pcn", Default(), Path{Rate: line}, 0)
	if err != nil || a.Rate() != line {
		t.Fatalf("begins at %v (%v), want %v", a.Rate(), err, line)
	}
	if a, _ = New("pcn", Default(), Path{Rate: line}, 20*unit.GigabitPerSec); a.Rate() != 20*unit.GigabitPerSec {
		t.Errorf("a flow with initial rate 20 Gbit/s starts at %v", a.Rate())
	}
}

// PCN-32, PCN-45: T = 50 us, wmin = 1/128, wmax = 0.5, threshold 95 %.
func TestPublishedConstants(t *testing.T) {
	p := DefaultPCN()
	if p.Period != 50*unit.Microsecond || p.WMin != 1.0/128 || p.WMax != 0.5 || p.Threshold != 0.95 {
		t.Errorf("defaults are %+v", p)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

// PCN-46: sendRate := min(sendRate, recRate·(1 - wmin)).
func TestDecreaseTakesTheDiscountedReceivingRate(t *testing.T) {
	const gbps = float64(unit.GigabitPerSec)
	for _, c := range []struct {
		name          string
		rate, recRate unit.Rate
		want          float64
	}{
		{"far below the rate", 40e9, 2_500_000_000, 2.5 * gbps * 127 / 128},
		{"at the rate", 20e9, 20e9, 20 * gbps * 127 / 128},
		// A guard "only if sendRate > recRate" would not trim this one.
		{"a little above the rate", 20e9, 20_100_000_000, 20.1 * gbps * 127 / 128},
		{"so far above that the discount exceeds the rate", 20e9, 30e9, 20 * gbps},
	} {
		a := from(c.rate)
		a.Handle(0, congested(c.recRate))
		within(t, c.name, float64(a.Rate()), c.want, 1)
	}
}

// PCN-53: while the backlog drains the receiving rate may exceed the sending
// rate, and by line 6 the rate must not rise.
func TestDecreaseNeverRaises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := unit.Rate(rapid.Int64Range(1, int64(line)).Draw(t, "rate"))
		a := NewPCN(DefaultPCN(), line, before)
		a.Handle(0, congested(unit.Rate(rapid.Int64Range(0, 2*int64(line)).Draw(t, "recRate"))))
		if a.Rate() > before {
			t.Fatalf("rose from %v to %v", before, a.Rate())
		}
	})
}

// PCN-47, PCN-19: a decrease resets w to wmin, so that the next increase is
// gentle again.
func TestDecreaseResetsW(t *testing.T) {
	a := from(1 * unit.GigabitPerSec)
	for range 10 {
		a.Handle(0, clear40)
	}
	within(t, "w after ten increases", a.w, 0.27267, 5e-6)
	a.Handle(0, congested(1*unit.GigabitPerSec))
	if a.w != 1.0/128 {
		t.Fatalf("w is %v after a decrease", a.w)
	}
	before := float64(a.Rate())
	a.Handle(0, clear40)
	within(t, "the step after it", float64(a.Rate())-before, (40e9-before)/128, 2)
}

// PCN-48: sendRate := sendRate·(1 - w) + lineRate·w, the weighted mean.
func TestIncreaseIsTheWeightedMean(t *testing.T) {
	a := from(10 * unit.GigabitPerSec)
	a.Handle(0, clear40)
	within(t, "rate", float64(a.Rate()), 10e9*127/128+40e9/128, 1)
}

// PCN-19, PCN-49: w := w·(1 - w) + wmax·w after the rate. From rate 0 this gives the
// paper's Fig. 10: at most 10 % of the line after 5 CNPs, 95 % after 15.
func TestIncreaseFollowsFigure10(t *testing.T) {
	a := from(lowest)
	want := map[int]struct{ rate, w float64 }{
		1: {.00781, .01166}, 2: {.01938, .01735}, 3: {.03639, .02572}, 4: {.06118, .03793},
		5: {.09679, .05545}, 6: {.14687, .08010}, 8: {.30447, .15767}, 10: {.53812, .27267},
		12: {.77649, .38999}, 14: {.92268, .46194}, 15: {.95840, .47952}, 16: {.97835, .48934},
		20: {.99859, .49931},
	}
	for n := 1; n <= 20; n++ {
		a.Handle(0, clear40)
		if row, ok := want[n]; ok {
			within(t, fmt.Sprintf("rate after %d", n), float64(a.Rate())/float64(line), row.rate, 6e-6)
			within(t, fmt.Sprintf("w after %d", n), a.w, row.w, 6e-6)
		}
	}
}

// PCN-50: the same constants work from 1 to 400 Gbit/s: the rate as a share of
// the line follows the same course.
func TestRecoveryDoesNotDependOnTheLinkSpeed(t *testing.T) {
	p := DefaultPCN()
	p.MinRate = 0
	slow, fast := NewPCN(p, 1e9, 1e8), NewPCN(p, 400e9, 400e8)
	for range 15 {
		slow.Handle(0, clear40)
		fast.Handle(0, clear40)
		within(t, "share", fast.rate/400e9, slow.rate/1e9, 1e-12)
	}
}

// PCN-51: all flows share the law of w, so a slow flow rises relatively faster.
func TestSlowFlowsRecoverRelativelyFaster(t *testing.T) {
	slow, fast := from(1*unit.GigabitPerSec), from(30*unit.GigabitPerSec)
	for range 5 {
		slow.Handle(0, clear40)
		fast.Handle(0, clear40)
	}
	if slow.rate/1e9 <= fast.rate/30e9 {
		t.Errorf("slow rose by %v, fast by %v", slow.rate/1e9, fast.rate/30e9)
	}
}

// PCN-52: an increase keeps the rate in [current, lineRate].
// PCN-41: RecRate of an increase is ignored.
func TestIncreaseStaysBetweenCurrentAndLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := unit.Rate(rapid.Int64Range(1, int64(line)).Draw(t, "rate"))
		a, b := from(rate), from(rate)
		for range rapid.IntRange(1, 200).Draw(t, "CNPs") {
			before := a.Rate()
			a.Handle(0, Signal{Kind: CNP, RecRate: unit.Rate(rapid.Int64Range(0, int64(line)).Draw(t, "recRate"))})
			b.Handle(0, Signal{Kind: CNP})
			if a.Rate() < before || a.Rate() > line {
				t.Fatalf("moved from %v to %v", before, a.Rate())
			}
		}
		if a.Rate() != b.Rate() || a.w < a.p.WMin || a.w > a.p.WMax {
			t.Fatalf("%v and %v, w %v", a.Rate(), b.Rate(), a.w)
		}
	})
}

// PCN-55: the floor is one MTU per T, configurable, 0 is off; the rate stays
// above 0 either way.
func TestFloor(t *testing.T) {
	a := NewPCN(DefaultPCN(), line, line)
	a.Handle(0, congested(0))
	if a.Rate() != 170*unit.MegabitPerSec {
		t.Errorf("fell to %v", a.Rate())
	}
	if bytes := a.Rate().In(DefaultPCN().Period); bytes < 1062 {
		t.Errorf("%v in T, less than a frame of 1000 payload bytes", bytes)
	}
	b := from(line)
	b.Handle(0, congested(0))
	if b.Rate() != 1 {
		t.Errorf("without a floor fell to %v", b.Rate())
	}
	slow := NewPCN(DefaultPCN(), 100*unit.MegabitPerSec, 100*unit.MegabitPerSec)
	slow.Handle(0, congested(0))
	if slow.Rate() != 100*unit.MegabitPerSec {
		t.Errorf("on a line below the floor fell to %v", slow.Rate())
	}
}

// PCN-54: PCN is rate-based: no window, no timer, and only CNPs change the
// rate.
func TestOnlyCNPsMoveTheRate(t *testing.T) {
	a := from(10 * unit.GigabitPerSec)
	a.Handle(0, Signal{Kind: Ack, Bytes: 1000, RTT: 1})
	a.Handle(0, Signal{Kind: Sent, Bytes: 1000})
	a.Tick(1)
	if _, timer := a.Next(); timer || a.Window() != NoWindow || a.Rate() != 10*unit.GigabitPerSec {
		t.Errorf("timer %v, window %v, rate %v", timer, a.Window(), a.Rate())
	}
}

func TestPCNValidateNamesTheInvalidParameter(t *testing.T) {
	for _, bad := range []func(*PCNParams){
		func(p *PCNParams) { p.WMin = 0 },
		func(p *PCNParams) { p.WMax = p.WMin / 2 },
		func(p *PCNParams) { p.WMax = 1 },
		func(p *PCNParams) { p.WMin = math.NaN() },
		func(p *PCNParams) { p.Period = 0 },
		func(p *PCNParams) { p.Threshold = 1.01 },
		func(p *PCNParams) { p.Threshold = 0 },
		func(p *PCNParams) { p.MinRate = -1 },
	} {
		p := DefaultPCN()
		bad(&p)
		if p.Validate() == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}

// The scheme pfc keeps its rate for any input.
func TestFixedKeepsItsRate(t *testing.T) {
	a, err := New("pfc", Default(), Path{Rate: line}, 20*unit.GigabitPerSec)
	if err != nil {
		t.Fatal(err)
	}
	a.Handle(0, congested(1))
	a.Tick(1)
	if _, timer := a.Next(); timer || a.Window() != NoWindow || a.Rate() != 20*unit.GigabitPerSec {
		t.Errorf("timer %v, window %v, rate %v", timer, a.Window(), a.Rate())
	}
}
