package credit

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// CBRC-10, CBRC-29: a sender whose demand is met moves to the idle list. There
// it is granted up to a window beyond its demand while the active list is
// empty. New demand moves it back, and n moves with it.
func TestSenderMovesBetweenTheLists(t *testing.T) {
	p := settings()
	r := NewPacer(&p, line, 2)
	ask(&r, 0, 0, 16)
	if got := r.List(0); got != "active" {
		t.Fatalf("a sender with demand is on the list %s", got)
	}
	r.Tick(0)
	if got := r.List(0); got != "idle" {
		t.Fatalf("a sender without demand is on the list %s", got)
	}
	signal(&r, 0, 0)
	if got := r.Coefficient(0); got != 2 {
		t.Errorf("idle with n = 1: coefficient %v, want 4/2", got)
	}
	ask(&r, 0, 1, 1)
	run(&r, unit.Second)
	if got := r.List(0); got != "none" {
		t.Errorf("a sender with a window of slow credit is on the list %s", got)
	}
	if got, most := r.Latest(0), int64(16)+64+64; got < 16+64 || got > most {
		t.Errorf("granted %d quanta, want the demand of 16 and a window of 64 to %d", got, most)
	}
	signal(&r, unit.Second, 0)
	r.Request(unit.Second, 0, 10_000)
	if r.List(0) != "active" || r.Coefficient(0) != 0.25 {
		t.Errorf("new demand with n = 2: list %s, coefficient %v", r.List(0), r.Coefficient(0))
	}
}

// CBRC-30: demand determines the list, whatever the sender signals.
func TestSignallingSenderWithDemandIsActive(t *testing.T) {
	p := settings()
	r := NewPacer(&p, line, 2)
	ask(&r, 0, 0, 1_000)
	signal(&r, 0, 0)
	if r.List(0) != "active" || r.Coefficient(0) != 0.5 {
		t.Errorf("with demand: list %s, coefficient %v, want active and 1/2", r.List(0), r.Coefficient(0))
	}
	ask(&r, 0, 1, 1)
	r.Tick(0)
	r.Tick(unit.Second)
	if signal(&r, unit.Second, 1); r.List(1) != "idle" || r.Coefficient(1) != 2 {
		t.Errorf("without demand: list %s, coefficient %v, want idle and 4/2", r.List(1), r.Coefficient(1))
	}
}

// A list contains each sender at most once, whatever the senders request and
// signal. The credit granted never exceeds 0.99 of the link by more than one
// grant.
func TestPacerKeepsItsLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := settings()
		p.Guard = unit.Time(rapid.Int64Range(0, 1).Draw(t, "guard")) * 10 * unit.Microsecond
		senders := rapid.IntRange(1, 6).Draw(t, "senders")
		r := NewPacer(&p, line, senders)
		var now unit.Time
		var total int64
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			now += unit.Time(rapid.Int64Range(0, int64(unit.Microsecond)).Draw(t, "wait"))
			s := rapid.IntRange(0, senders-1).Draw(t, "sender")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				signal(&r, now, s)
			case 1:
				ask(&r, now, s, r.Latest(s)+rapid.Int64Range(-10, 100).Draw(t, "demand"))
			default:
				if g, ok := r.Tick(now); ok {
					total += g.Quanta
				}
			}
			checkLists(t, &r)
		}
		if most := line.In(now)*99/100 + unit.Bytes(64+64)*Quantum; unit.Bytes(total)*Quantum > most {
			t.Fatalf("granted %v in %v", unit.Bytes(total)*Quantum, now)
		}
	})
}

func checkLists(t *rapid.T, r *Pacer) {
	listed := 0
	for i := range r.peers {
		p := &r.peers[i]
		if p.list != unlisted {
			listed++
		}
		if p.demand() > 0 && p.list != active {
			t.Fatalf("sender %d with a demand of %d is on the list %s", i, p.demand(), p.list)
		}
	}
	if listed != r.active.Len()+r.idle.Len() {
		t.Fatalf("%d senders listed, the lists have %d and %d", listed, r.active.Len(), r.idle.Len())
	}
}
