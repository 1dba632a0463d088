package cc

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// One test per sentence of PowerTCP, NSDI'22, in the form of its simulator (rdma-hw.cc,
// UpdateRatePower). Paths are those of the tests of HPCC: 100 Gbit/s, T = 13 us.

// powerRig acknowledges packets of a flow over hops of 100 Gbit/s.
type powerRig struct {
	*PowerTCP
	loadPath
}

func newPowerRig(hops int, edit ...func(*PowerTCPParams)) *powerRig {
	p := DefaultPowerTCP()
	for _, e := range edit {
		e(&p)
	}
	return &powerRig{NewPowerTCP(p, hpccPath, hpccPath.Rate), newLoadPath(hops)}
}

// ack acknowledges 1000 bytes, see loadPath.after.
func (r *powerRig) ack(span unit.Time, j int, share float64, queue unit.Bytes) {
	r.Handle(r.after(span, j, share, queue))
}

// The constants of the code: gamma 0.9, 150 Mbit/s, eta 0.95; start at line rate with a window of
// one bandwidth-delay product.
func TestPowerTCPPublishedConstants(t *testing.T) {
	r := newPowerRig(1)
	if p := r.p; p.Gamma != 0.9 || p.AI != 150*unit.MegabitPerSec || p.Eta != 0.95 || p.Validate() != nil {
		t.Errorf("%+v", p)
	}
	if r.Rate() != 100*gbps || r.Window() != 162_500 || r.load != 1 {
		t.Errorf("%s, window %s, U %v", r.Rate(), r.Window(), r.load)
	}
}

// Power is the arrival rate (current) times queue and BDP (voltage), over B·B·T. The arrival rate
// is the output and the growth of the queue, and at least half of B.
func TestPowerTCPPower(t *testing.T) {
	for _, c := range []struct {
		share         float64
		before, after unit.Bytes
		want          float64
	}{
		{1, 0, 0, 1},                  // line rate, no queue
		{0.8, 0, 0, 0.8},              // below
		{0.2, 0, 0, 0.5},              // A is at least B/2
		{1, 162_500, 162_500, 2},      // a queue of one BDP
		{1, 0, 162_500, 4},            // it grew by one BDP in T: A = 2B
		{1, 162_500, 81_250, 0.75},    // it shrinks: A = B/2, voltage 1.5
		{1, 325_000, 162_500, 1},      // A is at least B/2, voltage 2
		{0.9, 162_500, 146_250, 1.52}, // A = 0.8 B, voltage 1.9
	} {
		r := newPowerRig(1)
		r.ack(0, 0, 0, c.before)
		r.ack(13*us, 0, c.share, c.after)
		if math.Abs(r.load-c.want) > 1e-4 {
			t.Errorf("share %v, queue %s to %s: U %v, want %v", c.share, c.before, c.after, r.load, c.want)
		}
	}
}

// The hop with the largest power decides, and U is smoothed over T.
func TestPowerTCPBusiestHopSmoothed(t *testing.T) {
	r := newPowerRig(3)
	r.ack(0, 0, 0, 0)
	r.ack(1300*unit.Nanosecond, 1, 0.7, 0)
	if want := 0.9*1 + 0.1*0.7; math.Abs(r.load-want) > 1e-4 {
		t.Errorf("U %v, want %v", r.load, want)
	}
}

// R = gamma·(Rc/c + 150 Mbit/s) + (1 - gamma)·Rc with c = U/eta: up and down alike.
func TestPowerTCPUpdate(t *testing.T) {
	for _, share := range []float64{0.5, 0.95, 1} {
		r := newPowerRig(1)
		r.rate, r.reference = 40e9, 40e9
		r.ack(0, 0, 0, 0)
		r.ack(13*us, 0, share, 0)
		if want := 0.9*(40e9/(share/0.95)+150e6) + 0.1*40e9; math.Abs(r.rate-want) > 1e7 {
			t.Errorf("share %v: %v, want %v", share, r.rate, want)
		}
	}
}

// Rc is committed once per RTT; other ACKs compute R from the same Rc, unless fast_react is off.
func TestPowerTCPReferenceIsCommittedOncePerRTT(t *testing.T) {
	r := newPowerRig(1)
	r.ack(0, 0, 0, 162_500)
	r.ack(us, 0, 1, 162_500)
	if r.reference != 100e9 || r.rate >= 100e9 {
		t.Errorf("R %v, Rc %v within the RTT", r.rate, r.reference)
	}
	if r.ack(us, 0, 1, 162_500); r.reference != r.rate {
		t.Errorf("R %v, Rc %v at the end of the RTT", r.rate, r.reference)
	}
	slow := newPowerRig(1, func(p *PowerTCPParams) { p.FastReact = false })
	slow.ack(0, 0, 0, 162_500)
	if slow.ack(us, 0, 1, 162_500); slow.rate != 100e9 {
		t.Errorf("R %v within the RTT without fast_react", slow.rate)
	}
}

// The rate stays between the floor and the line.
func TestPowerTCPBounds(t *testing.T) {
	r := newPowerRig(1)
	for range 60 {
		r.ack(13*us, 0, 1, 10_000_000)
	}
	if r.Rate() >= 300*unit.MegabitPerSec { // 0.9 of R_AI remains
		t.Errorf("%s under a full queue", r.Rate())
	}
	for range 400 {
		r.ack(13*us, 0, 0.01, 0)
	}
	if r.Rate() != 100*gbps {
		t.Errorf("%s, want the line", r.Rate())
	}
	for _, p := range []PowerTCPParams{{Gamma: 1}, {Eta: 1}, {Eta: 1, Gamma: 2}, {Eta: 1, Gamma: 1, AI: -1}, {Eta: 1, Gamma: 1, RTT: -1}} {
		if p.Validate() == nil {
			t.Errorf("%+v is valid", p)
		}
	}
}
