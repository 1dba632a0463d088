package credit

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// published returns the published settings with an MTU of 4096 bytes plus 64 of
// headers (facts B2.1).
func published() Params {
	p := Default()
	p.MTU = 4160
	return p
}

// ask passes a data packet with that target, in quanta, to the pacer.
func ask(r *Pacer, now unit.Time, sender int, target int64) {
	r.Packet(now, sender, r.p.Counter.Encode(target))
}

// signal passes a data packet with the excess signal to the pacer.
func signal(r *Pacer, now unit.Time, sender int) {
	r.Packet(now, sender, r.p.Excess.Signal(r.p.Counter))
}

// run fires the timer until end and returns the sum of grants per sender.
func run(r *Pacer, end unit.Time) map[int]int64 {
	quanta := map[int]int64{}
	for {
		at, ok := r.Next()
		if !ok || at > end {
			return quanta
		}
		if g, ok := r.Tick(at); ok {
			quanta[g.Peer] += g.Quanta
		}
	}
}

// CBRC-2, CBRC-6: without the signal every sender with demand gets an equal
// share of 0.99 of the link, and no more than it requested.
func TestOriginalCreditIsShared(t *testing.T) {
	p := published()
	r := NewPacer(&p, line, 3)
	ask(&r, 0, 0, 1_000_000)
	ask(&r, 0, 1, 1_000_000)
	ask(&r, 0, 2, 160)
	span := unit.Millisecond
	got := run(&r, span)
	if want := int64(160); got[2] != want {
		t.Errorf("the third sender requested %d quanta and got %d", want, got[2])
	}
	if d := got[0] - got[1]; d < -16 || d > 16 {
		t.Errorf("two equal senders got %d and %d quanta", got[0], got[1])
	}
	total := unit.Bytes(got[0]+got[1]+got[2]) * Quantum
	if rate := unit.Over(total, span); rate < line*98/100 || rate > line*992/1000 {
		t.Errorf("credit of %v, want 0.99 of %v", rate, line)
	}
}

// CBRC-42: only a firing of the timer issues credit. No arriving packet does,
// whatever its content and time.
func TestOnlyTheTimerIssuesCredit(t *testing.T) {
	p := published()
	p.AIMD = true
	r := NewPacer(&p, line, 2)
	if _, ok := r.Next(); ok {
		t.Fatal("the timer runs without a sender")
	}
	ask(&r, 0, 0, 1000)
	if _, ok := r.Tick(0); !ok {
		t.Fatal("the timer does not fire for the first demand")
	}
	due, _ := r.Next()
	for _, now := range []unit.Time{0, due / 2, due - 1} {
		ask(&r, now, 0, 2000)
		ask(&r, now, 1, 1000)
		signal(&r, now, 0)
		r.Request(now, 1, 3000)
		if g, ok := r.Tick(now); ok || r.Latest(0) != 16 || r.Latest(1) != 0 {
			t.Errorf("at %v, before the timer is due at %v: %+v, numbers %d and %d", now, due, g, r.Latest(0), r.Latest(1))
		}
		if again, _ := r.Next(); again != due {
			t.Errorf("an arrival at %v moves the timer from %v to %v", now, due, again)
		}
	}
	// It is sender 0's turn again, at a coefficient of 1/2.
	if g, ok := r.Tick(due); !ok || g != (Grant{Peer: 0, Number: 24, Quanta: 8}) {
		t.Errorf("when it is due the timer grants %+v", g)
	}
}

// CBRC-42, CBRC-31: the interval to the timer's next firing is the time that
// the credit just granted takes to arrive at 0.99 of the link. For 16 quanta of
// 256 bytes at 40 Gbit/s that is 827.5 ns, for half as much half of it, and
// without a grant the time of 1024 bytes.
func TestTimerWaitsForGrantedCredit(t *testing.T) {
	const firing = 5 * unit.Microsecond
	for _, tt := range []struct {
		indicated int
		demand    int64
		quanta    int64
		ns        float64
	}{
		{0, 1000, 16, 827.5},
		{1, 1000, 8, 413.7},
		{2, 1000, 4, 206.9},
		{0, 5, 5, 258.6},
		{9, 1000, 0, 206.9},
	} {
		p := published()
		p.AIMD = true
		r := NewPacer(&p, line, 1)
		ask(&r, 0, 0, tt.demand)
		for range tt.indicated {
			signal(&r, 0, 0)
		}
		g, ok := r.Tick(firing) // late
		if ok != (tt.quanta > 0) || g.Quanta != tt.quanta || g.Number != tt.quanta {
			t.Fatalf("%d indicated packets, demand %d: %+v, want %d quanta", tt.indicated, tt.demand, g, tt.quanta)
		}
		if _, ok := r.Tick(firing); ok {
			t.Error("a second grant at the same instant")
		}
		at, _ := r.Next()
		if ns := float64(at-firing) / 1000; ns < tt.ns-0.1 || ns > tt.ns+0.1 {
			t.Errorf("%d quanta: next firing after %.1f ns, want %.1f", tt.quanta, ns, tt.ns)
		}
	}
}

// CBRC-7, CBRC-31: a sender that signals excess gets less at each firing, and
// the other senders get the freed time.
func TestFreedShareIsRedistributed(t *testing.T) {
	p := published()
	p.AIMD = true
	r := NewPacer(&p, line, 2)
	ask(&r, 0, 0, 1_000_000)
	ask(&r, 0, 1, 1_000_000)
	signal(&r, 0, 0)
	signal(&r, 0, 0)
	got := run(&r, unit.Millisecond)
	if ratio := float64(got[1]) / float64(got[0]); ratio < 3.9 || ratio > 4.1 {
		t.Errorf("the other gets %.2f times as much, want 4 at a coefficient of 1/4", ratio)
	}
	total := unit.Bytes(got[0]+got[1]) * Quantum
	if rate := unit.Over(total, unit.Millisecond); rate < line*98/100 {
		t.Errorf("credit of %v in all, want still 0.99 of %v", rate, line)
	}
}

// CBRC-36: a receiver's policy decides whether it grants less to a sender that
// signals excess; the policy scheme leaves the decision to the scheme.
func TestPolicyDecidesWhetherTheSignalCounts(t *testing.T) {
	for _, tt := range []struct {
		aimd   bool // of the scheme
		policy Policy
		heeded bool
	}{
		{false, PolicyScheme, false},
		{true, PolicyScheme, true},
		{false, PolicyOriginal, false},
		{true, PolicyOriginal, false},
		{false, PolicyAIMD, true},
		{true, PolicyAIMD, true},
	} {
		p := published()
		p.AIMD, p.Policy = tt.aimd, tt.policy
		r := NewPacer(&p, line, 2)
		ask(&r, 0, 0, 1_000_000)
		ask(&r, 0, 1, 1_000_000)
		for range 2 {
			signal(&r, 0, 0)
		}
		got := run(&r, unit.Millisecond)
		want := 1.0
		if tt.heeded {
			want = 4 // at a coefficient of 1/4
		}
		if ratio := float64(got[1]) / float64(got[0]); ratio < 0.98*want || ratio > 1.02*want {
			t.Errorf("AIMD %v, policy %s: the other sender gets %.2f times as much, want %g", tt.aimd, tt.policy, ratio, want)
		}
	}
}

// CBRC-8, CBRC-13: the first packet without the signal restores the shares.
func TestShareReturns(t *testing.T) {
	p := published()
	p.AIMD = true
	r := NewPacer(&p, line, 2)
	ask(&r, 0, 0, 1_000_000)
	ask(&r, 0, 1, 1_000_000)
	signal(&r, 0, 0)
	run(&r, unit.Millisecond)
	before := [2]int64{r.Latest(0), r.Latest(1)}
	ask(&r, unit.Millisecond, 0, 1_000_001)
	run(&r, 2*unit.Millisecond)
	first, second := r.Latest(0)-before[0], r.Latest(1)-before[1]
	if d := first - second; d < -32 || d > 32 {
		t.Errorf("after the signal ended: %d and %d quanta", first, second)
	}
}

// CBRC-18: a sender whose coefficient makes the grant 0 is skipped, and the
// guard keeps it from starving.
func TestZeroGrantPassesTheTurn(t *testing.T) {
	for _, tt := range []struct {
		guard    unit.Time
		min, max int64
	}{
		{0, 0, 0},
		{100 * unit.Microsecond, 9, 10},
	} {
		p := published()
		p.AIMD, p.Guard = true, tt.guard
		r := NewPacer(&p, line, 2)
		ask(&r, 0, 0, 1_000_000)
		ask(&r, 0, 1, 1_000_000)
		for range 10 {
			signal(&r, 0, 0)
		}
		got := run(&r, unit.Millisecond)
		if got[0] < tt.min || got[0] > tt.max {
			t.Errorf("guard %v: the signalling sender got %d quanta in 1 ms, want %d to %d", tt.guard, got[0], tt.min, tt.max)
		}
		if rate := unit.Over(unit.Bytes(got[1])*Quantum, unit.Millisecond); rate < line*98/100 {
			t.Errorf("guard %v: the other gets %v", tt.guard, rate)
		}
		ask(&r, unit.Millisecond, 0, 1_000_001)
		was := r.Latest(0)
		run(&r, 2*unit.Millisecond)
		if r.Latest(0) == was {
			t.Error("the sender stays without credit after its signal ended")
		}
	}
}

// CBRC-28: n counts data packets; a target in a control packet does not change
// it.
func TestOnlyDataPacketsCount(t *testing.T) {
	p := published()
	p.AIMD = true
	r := NewPacer(&p, line, 1)
	ask(&r, 0, 0, 500)
	signal(&r, 0, 0)
	signal(&r, 0, 0)
	r.Request(0, 0, 600)
	if r.Coefficient(0) != 0.25 || r.Asked(0) != 600 || r.Stats(0).Indicated != 2 {
		t.Errorf("coefficient %v, target %d, %+v, want 1/4 as before the request", r.Coefficient(0), r.Asked(0), r.Stats(0))
	}
	if ask(&r, 0, 0, 601); r.Coefficient(0) != 1 {
		t.Errorf("coefficient %v after a data packet without the signal", r.Coefficient(0))
	}
}

// CBRC-22: an indicated packet carries no target, whatever its bits would mean as one: near the
// end of the counter's range both signals would be a higher target. The last target remains valid.
func TestSignalLeavesTheTarget(t *testing.T) {
	for _, e := range []Excess{ExcessZeros, ExcessOnes} {
		for _, target := range []int64{500, 0xFFFFF0} {
			p := published()
			p.AIMD, p.Excess = true, e
			r := NewPacer(&p, line, 1)
			r.Request(0, 0, target)
			signal(&r, 0, 0)
			if got := r.Asked(0); got != target {
				t.Errorf("target %d after the signal %s, want %d", got, e, target)
			}
		}
	}
}

// CBRC-15: once an idle sender's signal has stopped, each firing of the timer grants it m MTU
// more than the one before, from k/2^n + m to k. Grants are in whole quanta of 256 bytes.
func TestIdleGrantRisesAtEachFiring(t *testing.T) {
	p := published()
	p.AIMD, p.Window = true, unit.Megabyte
	r := NewPacer(&p, line, 1)
	ask(&r, 0, 0, 16)
	r.Tick(0) // meets the demand
	for range 3 {
		signal(&r, 0, 0)
	}
	ask(&r, 0, 0, 16)
	for j, want := range []int64{1, 2, 3, 4, 4} {
		at, _ := r.Next()
		if g, _ := r.Tick(at); g.Quanta != Quanta(unit.Bytes(want)*p.MTU) {
			t.Errorf("firing %d: %d quanta, want those of %d MTU", j+1, g.Quanta, want)
		}
	}
}

// CBRC-35: a receiver exposes its counters and state per sender.
func TestStatsOfASender(t *testing.T) {
	p := settings()
	r := NewPacer(&p, line, 1)
	ask(&r, 0, 0, 40)
	signal(&r, 0, 0)
	r.Tick(0)
	if got, want := r.Stats(0), (PeerStats{Indicated: 1, Firings: 1, Quanta: 8}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
