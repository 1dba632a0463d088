package rttx

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// RTTX-39: way 1, the increment is D while the flow is congested at all.
func TestFixedIncrement(t *testing.T) {
	c := converter(t, settings(func(p *Params) { p.Way = WayFixed }))
	wantIncrement(t, c, 0, 0)
	feed(c, "M")
	wantIncrement(t, c, 1, 2*us)
	feed(c, "MM")
	wantIncrement(t, c, 3, 2*us)
}

// RTTX-40: way 2, f(level) goes linearly from 1 % to 100 % of D: with N = 4 it is
// 1, 34, 67, 100 %.
func TestGradedIncrement(t *testing.T) {
	c := converter(t, settings(func(p *Params) { p.Way = WayGraded }))
	for level, percent := range []unit.Time{0, 1, 34, 67, 100} {
		wantIncrement(t, c, level, 2*us*percent/100)
		feed(c, "M")
	}
	p := settings(func(p *Params) { p.Way, p.Levels = WayGraded, 100 })
	for level := 1; level <= 100; level++ {
		if got := p.increment(level, 100*us); got != unit.Time(level)*us {
			t.Errorf("N = 100, level %d: %s of 100us", level, got)
		}
	}
	p.Levels = 1
	if got := p.increment(1, us); got != us {
		t.Errorf("N = 1: %s of 1us", got)
	}
}

// RTTX-41: way 3, max(P_max, f(level)) D: P_max is a floor. With min it is a cap.
func TestProbabilisticIncrement(t *testing.T) {
	p := settings(func(p *Params) { p.Way, p.PMax = WayProbabilistic, 0.5 })
	for level, percent := range []unit.Time{0, 50, 50, 67, 100} {
		if got := p.increment(level, 2*us); got != 2*us*percent/100 {
			t.Errorf("max, level %d: %s, want %d %% of 2us", level, got, percent)
		}
	}
	p.Bound = BoundMin
	for level, percent := range []unit.Time{0, 1, 34, 50, 50} {
		if got := p.increment(level, 2*us); got != 2*us*percent/100 {
			t.Errorf("min, level %d: %s, want %d %% of 2us", level, got, percent)
		}
	}
}

// RTTX-42, RTTX-43: way 4, T(e) with e = P_e / P: [0, 0.2) 0, [0.2, 0.4) D/8,
// [0.4, 0.6) D/4, [0.6, 0.8) D/2, [0.8, 1] D, the lower ends included.
func TestTableIncrement(t *testing.T) {
	for _, row := range []struct {
		marked, packets uint8
		want            unit.Time
	}{
		{0, 100, 0},
		{19, 100, 0},
		{20, 100, 250 * ns},
		{39, 100, 250 * ns},
		{40, 100, 500 * ns},
		{59, 100, 500 * ns},
		{60, 100, us},
		{79, 100, us},
		{80, 100, 2 * us},
		{100, 100, 2 * us},
		{1, 5, 250 * ns},
		{2, 5, 500 * ns},
		{3, 5, us},
		{4, 5, 2 * us}, // e is a bound exactly
	} {
		p := settings(nil)
		if got := p.increment(int(grade(row.marked, row.packets)), 2*us); got != row.want {
			t.Errorf("e = %d/%d: %s, want %s", row.marked, row.packets, got, row.want)
		}
	}
}

// RTTX-44, RTTX-45: with P = 8, P_e of 0 and 1 give 0, 2 and 3 D/8, 4 D/4, 5 and 6
// D/2, 7 and 8 D; the levels are 0 to 4.
func TestIntegerTable(t *testing.T) {
	const d = 2 * us
	for marked, level := range []int{0, 0, 1, 1, 2, 3, 3, 4, 4} {
		c := converter(t, settings(nil))
		for i := range 8 {
			c.Forward(0, there, i < marked)
		}
		wantIncrement(t, c, level, []unit.Time{0, d / 8, d / 4, d / 2, d}[level])
	}
}

// RTTX-48: D = Buffer x 8 / (PortNum x PortRate).
func TestFormulaD(t *testing.T) {
	ports := func(n int, rate unit.Rate) (rates []unit.Rate) {
		for range n {
			rates = append(rates, rate)
		}
		return rates
	}
	for _, c := range []struct {
		buffer unit.Bytes
		rates  []unit.Rate
		want   unit.Time
	}{
		{25 * unit.Kilobyte, ports(1, 100*unit.GigabitPerSec), 2 * us},
		{32 * unit.Megabyte, ports(32, 100*unit.GigabitPerSec), 80 * us},
		{12 * unit.Megabyte, ports(17, 40*unit.GigabitPerSec), 141176471 * unit.Picosecond},
		{30 * unit.Kilobyte, append(ports(2, 40*unit.GigabitPerSec), 160*unit.GigabitPerSec), us},
	} {
		if got := FormulaD(c.buffer, c.rates); got != c.want {
			t.Errorf("%s over %d ports: %s, want %s", c.buffer, len(c.rates), got, c.want)
		}
	}
	// RTTX-49: the default is 2 us by hand; 0 asks for the formula.
	if d := Default().D; d != 2*us {
		t.Errorf("default D %s", d)
	}
	byFormula := New(settings(func(p *Params) { p.D = 0 }), known, 32*unit.Megabyte, ports(32, 100*unit.GigabitPerSec))
	if d := byFormula.Stats().D; d != 80*us {
		t.Errorf("D by formula %s, want 80us", d)
	}
}

// RTTX-54: with D = minRTT / (2 b), TIMELY's decrease b·D/minRTT is 1/2, as ECN's is
// when every packet is marked.
func TestEqualD(t *testing.T) {
	for _, c := range []struct {
		beta         float64
		minRTT, want unit.Time
	}{
		{0.8, 20 * us, 12500 * ns},
		{0.8, 500 * us, 312500 * ns},
		{1, 20 * us, 10 * us},
		{0.01, unit.Second, MaxD},
		{1e-300, unit.Never, MaxD},
	} {
		got := EqualD(c.beta, c.minRTT)
		if got != c.want {
			t.Errorf("b %v, minRTT %s: %s, want %s", c.beta, c.minRTT, got, c.want)
		}
		if cut := c.beta * float64(got) / float64(c.minRTT); got < MaxD && cut != 0.5 {
			t.Errorf("b %v, minRTT %s: the strongest increment weighs %v", c.beta, c.minRTT, cut)
		}
	}
}

// RTTX-50: the control plane sets D, also while the converter runs: the level
// stays, its increment is of the new D from the next return packet on.
func TestDChangesWhileRunning(t *testing.T) {
	c := converter(t, settings(nil))
	feed(c, "MMMMM---")
	wantIncrement(t, c, 3, us)
	c.SetD(8 * us)
	wantIncrement(t, c, 3, 4*us)
	if d := c.Stats().D; d != 8*us {
		t.Errorf("D is %s", d)
	}
}
