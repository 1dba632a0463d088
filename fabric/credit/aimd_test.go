package credit

import "testing"

func after(packets ...bool) *coefficient {
	var c coefficient
	for _, indicated := range packets {
		c.packet(indicated)
	}
	return &c
}

func indicated(n int) []bool {
	p := make([]bool, n)
	for i := range p {
		p[i] = true
	}
	return p
}

// CBRC-9, CBRC-11, CBRC-16: on the active list each consecutive indicated packet halves
// the coefficient.
func TestActiveCoefficientHalves(t *testing.T) {
	p := Default()
	for n, want := range []float64{1, 0.5, 0.25, 0.125} {
		if got := after(indicated(n)...).active(&p); got != want {
			t.Errorf("n = %d: %v, want %v", n, got, want)
		}
	}
}

// CBRC-12: k/2^n if the active list grants k too, and beta^n.
func TestActiveCoefficientAlternatives(t *testing.T) {
	p := Default()
	p.Active = 4
	if got := after(true, true, true).active(&p); got != 0.5 {
		t.Errorf("4/2^3 = %v, want 0.5", got)
	}
	p.Active, p.Decrease, p.Beta = 1, DecreaseBeta, 0.75
	if got := after(true, true).active(&p); got != 0.5625 {
		t.Errorf("0.75^2 = %v, want 0.5625", got)
	}
}

// CBRC-13: the first packet without the signal restores the active coefficient
// at once, without an additive phase.
func TestActiveCoefficientRecoversInOneStep(t *testing.T) {
	p := Default()
	if got := after(true, true, true, false).active(&p); got != 1 {
		t.Errorf("after a packet without the signal: %v, want 1", got)
	}
}

// CBRC-14, CBRC-16, CBRC-18: k = 4 halves to 4, 2, 1, 0 on the idle list.
func TestIdleCoefficientHalvesRoundedDown(t *testing.T) {
	p := Default()
	for n, want := range []int{4, 2, 1, 0, 0} {
		if got := after(indicated(n)...).idle(&p); got != want {
			t.Errorf("k = 4, n = %d: %d, want %d", n, got, want)
		}
	}
	p.Idle = 7
	for n, want := range []int{7, 3, 1, 0} {
		if got := after(indicated(n)...).idle(&p); got != want {
			t.Errorf("k = 7, n = %d: %d, want %d", n, got, want)
		}
	}
}

// CBRC-9, CBRC-15: the idle coefficient rises by m at each firing from its
// lowest value, but never above k.
func TestIdleCoefficientRisesByM(t *testing.T) {
	for _, tt := range []struct {
		k, m, n int
		want    []int
	}{
		{4, 1, 1, []int{3, 4, 4}},
		{4, 1, 3, []int{1, 2, 3, 4, 4}},
		{7, 2, 2, []int{3, 5, 7, 7}},
		{8, 3, 15, []int{3, 6, 8, 8}},
	} {
		p := Default()
		p.Idle, p.Rise = tt.k, tt.m
		c := after(append(indicated(tt.n), false)...)
		for j, want := range tt.want {
			c.fired()
			if got := c.idle(&p); got != want {
				t.Errorf("k = %d, m = %d, n* = %d, j = %d: %d, want %d", tt.k, tt.m, tt.n, j+1, got, want)
			}
		}
	}
}

// CBRC-19: n counts packets, restarts after a packet without the signal, and is
// bounded.
func TestIndicatedPacketsAreCountedConsecutively(t *testing.T) {
	if c := after(true, true, false, true); c.n != 1 {
		t.Errorf("n = %d after one indicated packet past a gap, want 1", c.n)
	}
	if c := after(indicated(1000)...); c.n != most {
		t.Errorf("n = %d after 1000 indicated packets, want %d", c.n, most)
	}
}

// CBRC-17: k is 4 and m is 1 unless set: after two indicated packets the idle
// coefficient rises from 1 by 1 per firing to 4.
func TestPublishedCoefficients(t *testing.T) {
	p := Default()
	if p.Idle != 4 || p.Rise != 1 {
		t.Errorf("k = %d, m = %d, want 4 and 1", p.Idle, p.Rise)
	}
	c := after(true, true, false)
	for j, want := range []int{1, 2, 3, 4, 4} {
		if got := c.idle(&p); got != want {
			t.Errorf("after %d firings: %d, want %d", j, got, want)
		}
		c.fired()
	}
}
