package cc

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// RCCC has no published pseudocode: these are the rules of uet-htsim (uec.cpp), with line numbers.

// newTestRCCC returns the settings of the scheme rccc, for packets of 4096 bytes.
func newTestRCCC(t *testing.T) credit.Params {
	t.Helper()
	scheme, err := Find("rccc")
	if err != nil {
		t.Fatal(err)
	}
	p := scheme.Complete(Default(), nil, 12*us)
	p.Credit.MTU = 4096
	if err := p.Validate("rccc"); err != nil || p.Credit.AIMD || p.Credit.RateShare != 0.99 || p.Credit.BaseRTT != 12*us {
		t.Fatalf("%+v: %v", p.Credit, err)
	}
	return p.Credit
}

// RCCC-1: 32 to 36: a grant is 4 packets of credit, 64 quanta, in both lists; one to a sender with demand
// is at most the demand. The next follows when the granted bytes have arrived at 0.99 of the link.
func TestRCCCGrants(t *testing.T) {
	p := newTestRCCC(t)
	r := credit.NewPacer(&p, 100*gbps, 1)
	r.Request(0, 0, 2*64+5)
	now := unit.Time(0)
	for _, want := range []struct {
		quanta int64
		slow   bool
	}{{64, false}, {64, false}, {5, false}, {64, true}, {64, true}} {
		at, _ := r.Next()
		now = at
		g, ok := r.Tick(now)
		if !ok || g.Quanta != want.quanta || g.Slow != want.slow {
			t.Errorf("at %v: granted %+v, want %+v", now, g, want)
		}
		next, _ := r.Next()
		if span := unit.Time(float64(want.quanta) * 256 * 8 / 0.99 / 100 * float64(unit.Nanosecond)); next-now < span-1 || next-now > span+2 {
			t.Errorf("the next grant follows after %v, want %v", next-now, span)
		}
	}
}

// RCCC-4: 1845 to 1857: a sender begins with 1.5 bandwidth-delay products, without a request. The first
// answer voids what is left of it.
func TestRCCCSpeculates(t *testing.T) {
	p := newTestRCCC(t)
	a := credit.NewAccount(&p, 100*gbps)
	if a.Held() != 225_000 || !a.MaySend() {
		t.Fatalf("%v of credit at the start, want 225 KB", a.Held())
	}
	a.Spend(0, 25_000)
	if a.Answered(); a.Held() != 0 || a.MaySend() || a.Balance(0).Dropped != 200_000 {
		t.Errorf("%v of credit after the answer: %+v", a.Held(), a.Balance(0))
	}
}

// RCCC-2: the target is the backlog less the credit held, divided by the number of receivers.
func TestRCCCTarget(t *testing.T) {
	p := newTestRCCC(t)
	p.Start = credit.StartAsked
	a := credit.NewAccount(&p, 100*gbps)
	a.Grant(0, credit.UETCounter, 100)
	for receivers, want := range map[int]int64{1: 300, 3: 100} {
		if got := a.Target(400*credit.Quantum, receivers); got != 100+want {
			t.Errorf("%d receivers: target %d, want %d above the 100 granted", receivers, got, want)
		}
	}
}
