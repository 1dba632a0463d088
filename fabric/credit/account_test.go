package credit

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

const line = 40 * unit.GigabitPerSec

// settings returns settings with a window of 64 quanta and a threshold of 32.
func settings() Params {
	p := published()
	p.AIMD, p.Window, p.Threshold = true, 64*Quantum, 32*Quantum
	return p
}

// A sender starts at once with a full window. The rest of it becomes void with
// the first answer (facts B2.2).
func TestSpeculationEndsWithTheFirstACK(t *testing.T) {
	p := settings()
	a := NewAccount(&p, line)
	if !a.MaySend() || a.Held() != p.Window {
		t.Fatalf("%v of credit at the start, want %v", a.Held(), p.Window)
	}
	a.Spend(0, 10*Quantum)
	a.Answered()
	b := a.Balance(0)
	if a.Held() != 0 || b.Dropped != 54*Quantum || a.Speculating() {
		t.Errorf("after the ACK: %v of credit, dropped %v", a.Held(), b.Dropped)
	}
}

// CBRC-25, CBRC-27: credit must be strictly above the threshold to signal
// excess, and only received credit counts.
func TestExcessThresholdIsStrictAndCountsReceivedCredit(t *testing.T) {
	p := settings()
	a := NewAccount(&p, line)
	if a.Exceeds(a.Accumulated()) {
		t.Error("speculative credit counts as accumulated")
	}
	a.Grant(0, UETCounter, 32)
	if got := a.Accumulated(); got != 32*Quantum || a.Exceeds(got) {
		t.Errorf("%v is excess at a threshold of the same size", got)
	}
	a.Grant(0, UETCounter, 33)
	if !a.Exceeds(a.Accumulated()) {
		t.Error("a quantum above the threshold is not excess")
	}
	p.AIMD = false
	if a.Exceeds(a.Accumulated()) {
		t.Error("original CBRC signals excess")
	}
}

// CBRC-26: threshold and window follow from the bandwidth-delay product unless
// set: 40 Gbit/s times 40 us is 200 kB.
func TestThresholdIsOneBandwidthDelayProduct(t *testing.T) {
	p := published()
	if got := p.threshold(line); got != 200*unit.Kilobyte {
		t.Errorf("threshold %v, want 200KB", got)
	}
	if got := p.window(line); got != 300*unit.Kilobyte {
		t.Errorf("window %v, want 300KB", got)
	}
}

// CBRC-43, RCCC-2: the three laws of the target, with 20 quanta held and a backlog of
// 100.
func TestTargetLaws(t *testing.T) {
	for _, tt := range []struct {
		law       Law
		receivers int
		want      int64 // quanta beyond the credit received
	}{
		{LawBacklog, 1, 100},
		{LawBacklog, 4, 100},
		{LawUnheld, 1, 44}, // a window of 64 minus 20
		{LawUnheld, 4, 44},
		{LawShared, 1, 44},
		{LawShared, 4, 11},
	} {
		p := settings()
		p.Law, p.Start = tt.law, StartAsked
		a := NewAccount(&p, line)
		a.Grant(0, UETCounter, 20)
		if got := a.Target(100*Quantum, tt.receivers); got != 20+tt.want {
			t.Errorf("%s with %d receivers: target %d, want %d", tt.law, tt.receivers, got, 20+tt.want)
		}
	}
}

// An unlimited backlog requests no more than the counter can represent
// unambiguously.
func TestTargetStaysWithinTheCounter(t *testing.T) {
	p := settings()
	a := NewAccount(&p, line)
	got := a.Target(1<<62, 1)
	if back := UETCounter.Decode(UETCounter.Encode(got), 0); back != got {
		t.Errorf("target %d decoded as %d", got, back)
	}
}

// A duplicated or late credit, or one after a lost one, is harmless because
// credit is cumulative.
func TestCumulativeCreditIsIdempotent(t *testing.T) {
	p := settings()
	p.Start = StartAsked
	a := NewAccount(&p, line)
	for _, number := range []uint32{10, 10, 30, 20} {
		a.Grant(0, UETCounter, number)
	}
	if a.Held() != 30*Quantum {
		t.Errorf("%v of credit, want 30 quanta", a.Held())
	}
}

// CBRC-34: credit beyond the window is dropped, credit unspent for longer than the
// base RTT is stale; both are waste.
func TestWasteIsDroppedOrStale(t *testing.T) {
	p := settings()
	p.Start = StartAsked
	a := NewAccount(&p, line)
	a.Grant(0, UETCounter, 70)
	if b := a.Balance(0); b.Dropped != 6*Quantum || b.Wasted() != 6*Quantum {
		t.Errorf("dropped %v of 70 quanta at a window of 64, want 6", b.Dropped)
	}
	a.Spend(p.BaseRTT, 4*Quantum)
	if b := a.Balance(p.BaseRTT); b.Stale != 0 {
		t.Errorf("%v stale at the base RTT", b.Stale)
	}
	if b := a.Balance(p.BaseRTT + 1); b.Stale != 60*Quantum {
		t.Errorf("%v stale past the base RTT, want 60 quanta", b.Stale)
	}
	a.Spend(p.BaseRTT+2, 60*Quantum)
	if b := a.Balance(2 * p.BaseRTT); b.Stale != 60*Quantum {
		t.Errorf("%v stale after all is spent, want 60 quanta", b.Stale)
	}
}

// CBRC-34: credit becomes stale whether the next event is a grant, a packet or
// a read of the balance, and whatever the number of grants. An account keeps 64
// instants; later grants take the age of the 64th.
func TestCreditBecomesStaleWithAnyNextEvent(t *testing.T) {
	p := settings()
	p.Start, p.Window = StartAsked, 1000*Quantum
	a := NewAccount(&p, line)
	a.Grant(0, UETCounter, 10)
	a.Grant(p.BaseRTT+1, UETCounter, 30)
	a.Spend(2*p.BaseRTT+2, 5*Quantum)
	if b := a.Balance(2*p.BaseRTT + 2); b.Stale != 30*Quantum || b.Held != 25*Quantum {
		t.Errorf("%v stale, %v usable, want 30 and 25 quanta", b.Stale, b.Held)
	}
	now := 3 * p.BaseRTT
	for i := range uint32(70) {
		a.Grant(now+unit.Time(i), UETCounter, 31+i)
	}
	if b := a.Balance(now + p.BaseRTT + 63); b.Stale != 30*Quantum+63*Quantum {
		t.Errorf("%v stale, want 93 quanta: the 64th and later ones are not yet", b.Stale)
	}
	if b := a.Balance(now + p.BaseRTT + 64); b.Stale != 100*Quantum {
		t.Errorf("%v stale, want all 100 quanta", b.Stale)
	}
}

// A speculating sender requests credit for at least one packet, or for its
// backlog if that is smaller.
func TestSpeculatingSenderRequestsCredit(t *testing.T) {
	p := settings()
	p.Law = LawUnheld
	a := NewAccount(&p, line)                                                                  // holds a window, so that its backlog is covered
	for backlog, want := range map[unit.Bytes]int64{0: 0, 3 * Quantum: 3, 100 * Quantum: 17} { // an MTU of 4160 bytes is 16.25 quanta
		if got := a.Target(backlog, 1); got != want {
			t.Errorf("backlog %v: target %d, want %d", backlog, got, want)
		}
	}
	a.Answered()
	a.Grant(0, UETCounter, 64)
	if got := a.Target(10*Quantum, 1); got != 64 {
		t.Errorf("after the answer: target %d, want the 64 granted", got)
	}
}

// The balance of granted, spent, dropped and held credit is even at every
// instant.
func TestAccountBalances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := settings()
		p.Start = rapid.SampledFrom([]Start{StartSpeculative, StartAsked}).Draw(t, "start")
		a := NewAccount(&p, line)
		var now unit.Time
		number := int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += unit.Time(rapid.Int64Range(0, int64(p.BaseRTT)/4).Draw(t, "wait"))
			if rapid.Bool().Draw(t, "grant") {
				number += rapid.Int64Range(-3, 40).Draw(t, "quanta")
				a.Grant(now, UETCounter, uint32(max(0, number))&UETCounter.mask())
			} else if a.MaySend() {
				a.Spend(now, unit.Bytes(rapid.Int64Range(64, 4200).Draw(t, "packet")))
			}
			b := a.Balance(now)
			if b.Granted+b.Speculative != b.Spent+b.Dropped+b.Held {
				t.Fatalf("does not balance: %+v", b)
			}
			if b.Held > p.Window || b.Held <= -4200 {
				t.Fatalf("credit %v is out of range", b.Held)
			}
			if inLots := heldInLots(&a); inLots > max(0, b.Held) {
				t.Fatalf("lots add up to %v of %v", inLots, b.Held)
			}
		}
	})
}

func heldInLots(a *Account) (n unit.Bytes) {
	n = a.lots.stale
	for i := range a.lots.fresh.Len() {
		n += a.lots.fresh.At(i).bytes
	}
	return n
}
