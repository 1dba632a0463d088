package cc

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// One test per sentence of HPCC, SIGCOMM'19, and of its simulator's rdma-hw.cc; numbers are its
// lines.

// hpccPath has 100 Gbit/s and T = 13 us: a bandwidth-delay product of 162.5 KB.
var hpccPath = Path{Rate: 100 * gbps, MTU: 1000, BaseRTT: 13 * us}

func newTestHPCC(edit ...func(*HPCCParams)) *HPCC {
	p := DefaultHPCC()
	for _, e := range edit {
		e(&p)
	}
	return NewHPCC(p, hpccPath, hpccPath.Rate)
}

// hpccRig acknowledges packets of a flow over hops of 100 Gbit/s.
type hpccRig struct {
	*HPCC
	loadPath
}

func newHPCCRig(hops int, edit ...func(*HPCCParams)) *hpccRig {
	return &hpccRig{newTestHPCC(edit...), newLoadPath(hops)}
}

// ack acknowledges 1000 bytes, see loadPath.after.
func (r *hpccRig) ack(span unit.Time, j int, share float64, queue unit.Bytes) {
	r.Handle(r.after(span, j, share, queue))
}

// 118, 113, run.py hp: eta 0.95, maxStage 5, R_AI 40 Mbit/s at 100 Gbit/s.
func TestHPCCPublishedConstants(t *testing.T) {
	c := newTestHPCC()
	if c.p.Eta != 0.95 || c.p.MaxStage != 5 || c.step != 40e6 || !c.p.FastReact || c.p.Validate() != nil {
		t.Errorf("%+v, step %v", c.p, c.step)
	}
	// Line-rate start, with a window of one bandwidth-delay product; U begins at 1.
	if c.Rate() != 100*gbps || c.Window() != 162_500 || c.load != 1 {
		t.Errorf("%s, window %s, U %v", c.Rate(), c.Window(), c.load)
	}
}

// 757 to 763: the first ACK is stored and changes nothing.
func TestHPCCFirstACKChangesNothing(t *testing.T) {
	r := newHPCCRig(1)
	r.ack(us, 0, 1, 1_000_000)
	if r.Rate() != 100*gbps || r.load != 1 || r.reference != 100e9 {
		t.Errorf("%s, U %v", r.Rate(), r.load)
	}
}

// 797 to 800: u of a hop is its rate over B, and the smaller of two queue lengths over B·T.
// After a T of one load, U is u. Two flows at line rate with a queue of one BDP: u = 2.
func TestHPCCUtilisation(t *testing.T) {
	for _, c := range []struct {
		share float64
		queue unit.Bytes
		want  float64
	}{{0.5, 0, 0.5}, {1, 0, 1}, {1, 162_500, 2}, {1, 81_250, 1.5}} {
		r := newHPCCRig(1)
		r.loads.Hops[0].Queue = c.queue
		r.ack(0, 0, 0, c.queue)
		r.ack(13*us, 0, c.share, c.queue)
		if math.Abs(r.load-c.want) > 1e-4 {
			t.Errorf("share %v, queue %s: U %v, want %v", c.share, c.queue, r.load, c.want)
		}
	}
}

// The smaller of the two queue lengths counts, which filters noise.
func TestHPCCTakesTheSmallerQueue(t *testing.T) {
	r := newHPCCRig(1)
	r.ack(0, 0, 0, 0)
	r.ack(13*us, 0, 0.5, 1_000_000)
	if math.Abs(r.load-0.5) > 1e-4 {
		t.Errorf("U %v, want 0.5", r.load)
	}
}

// The hop with the largest u decides.
func TestHPCCTakesTheBusiestHop(t *testing.T) {
	r := newHPCCRig(3)
	r.ack(0, 0, 0, 0)
	r.ack(13*us, 1, 0.7, 0)
	if math.Abs(r.load-0.7) > 1e-4 {
		t.Errorf("U %v, want that of hop 1", r.load)
	}
}

// 821 to 829: U = (1 - tau/T)·U + (tau/T)·u, with tau at most T.
func TestHPCCSmoothsU(t *testing.T) {
	r := newHPCCRig(1)
	r.ack(0, 0, 0, 0)
	r.ack(1300*unit.Nanosecond, 0, 0.5, 0)
	if want := 0.9*1 + 0.1*0.5; math.Abs(r.load-want) > 1e-4 {
		t.Errorf("U %v, want %v", r.load, want)
	}
	r.ack(130*us, 0, 0.25, 0)
	if math.Abs(r.load-0.25) > 1e-4 {
		t.Errorf("U %v after 10 T, want 0.25", r.load)
	}
}

// 832 to 838: with U at 2, c = 2/0.95 and R = Rc/c + R_AI.
func TestHPCCMultiplicativeChange(t *testing.T) {
	r := newHPCCRig(1)
	r.ack(0, 0, 0, 162_500)
	r.ack(13*us, 0, 1, 162_500)
	if want := 100e9/(r.load/0.95) + 40e6; r.rate != want || math.Abs(r.rate-47.54e9) > 1e7 {
		t.Errorf("%v, want %v", r.rate, want)
	}
}

// Below eta the rate rises by R_AI. After maxStage increases one is multiplicative: R = Rc/c.
func TestHPCCAdditiveIncreases(t *testing.T) {
	r := newHPCCRig(1)
	r.rate, r.reference = 50e9, 50e9
	r.ack(0, 0, 0, 0)
	for stage := 1; stage <= 5; stage++ {
		for r.stage < stage {
			r.ack(13*us, 0, 0.5, 0)
		}
		if want := 50e9 + float64(stage)*40e6; r.reference != want {
			t.Errorf("stage %d: Rc %v, want %v", stage, r.reference, want)
		}
	}
	for r.stage == 5 {
		r.ack(13*us, 0, 0.5, 0)
	}
	if want := (50e9+5*40e6)/(r.load/0.95) + 40e6; r.stage != 0 || math.Abs(r.reference-want) > 1e8 {
		t.Errorf("stage %d, Rc %v, want %v", r.stage, r.reference, want)
	}
}

// MI_THRESH 0: every change is multiplicative, also below eta.
func TestHPCCMaxStageZero(t *testing.T) {
	r := newHPCCRig(1, func(p *HPCCParams) { p.MaxStage = 0 })
	r.rate, r.reference = 20e9, 20e9
	r.ack(0, 0, 0, 0)
	r.ack(13*us, 0, 0.5, 0)
	if want := 20e9/(r.load/0.95) + 40e6; r.rate != want || r.rate < 37e9 {
		t.Errorf("%v, want %v", r.rate, want)
	}
}

// 744 to 750: Rc is committed once per RTT. Other ACKs compute R from the same Rc, unless
// FAST_REACT is 0.
func TestHPCCReferenceIsCommittedOncePerRTT(t *testing.T) {
	r := newHPCCRig(1)
	r.ack(0, 0, 0, 162_500) // begins an RTT that ends with the packet after the next
	r.ack(us, 0, 1, 162_500)
	first := r.rate
	if r.reference != 100e9 || first >= 100e9 {
		t.Errorf("R %v, Rc %v within the RTT", first, r.reference)
	}
	r.ack(us, 0, 1, 162_500)
	if want := 100e9/(r.load/0.95) + 40e6; r.rate != want || r.reference != want {
		t.Errorf("R %v, Rc %v at the end of the RTT, want %v", r.rate, r.reference, want)
	}
	slow := newHPCCRig(1, func(p *HPCCParams) { p.FastReact = false })
	slow.ack(0, 0, 0, 162_500)
	if slow.ack(us, 0, 1, 162_500); slow.rate != 100e9 {
		t.Errorf("R %v within the RTT without fast_react", slow.rate)
	}
}

// The rate stays between R_min and the line.
func TestHPCCBounds(t *testing.T) {
	r := newHPCCRig(1)
	for range 40 {
		r.ack(13*us, 0, 1, 10_000_000)
	}
	if r.Rate() != 100*unit.MegabitPerSec {
		t.Errorf("%s, want min_rate", r.Rate())
	}
	for range 4000 {
		r.ack(13*us, 0, 0.01, 0)
	}
	if r.Rate() != 100*gbps {
		t.Errorf("%s, want the line", r.Rate())
	}
}

// Counters wrap around. After a long pause they cannot be compared, and after a change of the
// path's length neither: the ACK is stored as the first one.
func TestHPCCCounters(t *testing.T) {
	r := newHPCCRig(1)
	r.loads.Hops[0].At, r.loads.Hops[0].Sent = 1<<32-5000, 1<<32-5000
	r.ack(0, 0, 0, 0)
	r.ack(13*us, 0, 0.5, 0)
	if math.Abs(r.load-0.5) > 1e-4 {
		t.Errorf("U %v over a wrap, want 0.5", r.load)
	}
	r.ack(stale, 0, 1, 0)
	if math.Abs(r.load-0.5) > 1e-4 {
		t.Errorf("U %v after a pause", r.load)
	}
	r.loads.Count = 2
	r.ack(13*us, 0, 1, 0)
	if math.Abs(r.load-0.5) > 1e-4 {
		t.Errorf("U %v after a change of the path", r.load)
	}
}

func TestHPCCIgnoresACKsWithoutLoad(t *testing.T) {
	r := newHPCCRig(1)
	r.ack(0, 0, 0, 0)
	r.Handle(13*us, Signal{Kind: Ack, Bytes: 1000})
	r.Handle(13*us, Signal{Kind: Ack, Bytes: 1000, Load: &Loads{}})
	r.Handle(13*us, Signal{Kind: CNP, Marked: true})
	if r.Rate() != 100*gbps || NewHPCC(DefaultHPCC(), Path{Rate: line}, line).Window() != NoWindow {
		t.Errorf("%s", r.Rate())
	}
}
