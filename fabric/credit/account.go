package credit

import "github.com/rackfab/rackfab/fabric/unit"

// Balance is the credit balance of an account, in bytes. At every instant
// Granted + Speculative = Spent + Dropped + Held.
type Balance struct {
	Granted     unit.Bytes // received from the receiver
	Speculative unit.Bytes // assumed at the start, before any grant
	Spent       unit.Bytes // on packets
	Dropped     unit.Bytes // above the window, or speculative and unused
	Held        unit.Bytes // may be below 0 by less than a packet
	// Stale is the credit held for longer than the base RTT, whether spent
	// later or not. Stale plus Dropped is the credit wasted (CBRC-34).
	Stale unit.Bytes
}

// Wasted returns the credit that was lost or not spent in time (CBRC-34).
func (b Balance) Wasted() unit.Bytes { return b.Stale + b.Dropped }

// Account is a sender's state for one receiver: the credit held and the credit
// requested (facts B2.2).
type Account struct {
	p           *Params
	window      unit.Bytes
	limit       unit.Bytes // threshold of the excess signal
	pull        int64      // highest cumulative credit received, in quanta
	speculating bool
	balance     Balance
	lots        lots
}

// NewAccount returns the account of a sender whose link runs at line. It holds
// a full window at once if p selects the speculative start.
func NewAccount(p *Params, line unit.Rate) Account {
	a := Account{p: p, window: p.window(line), limit: p.threshold(line), lots: newLots(p.BaseRTT)}
	if p.Start == StartSpeculative {
		a.speculating = true
		a.balance.Speculative, a.balance.Held = a.window, a.window
	}
	return a
}

// Balance returns the balance at now.
func (a *Account) Balance(now unit.Time) Balance {
	a.balance.Stale += a.lots.expire(now)
	return a.balance
}

// Held returns the credit that may still be spent, in bytes.
func (a *Account) Held() unit.Bytes { return a.balance.Held }

// Accumulated returns the credit received and not spent (CBRC-25). Speculative
// credit does not count as received.
func (a *Account) Accumulated() unit.Bytes {
	if a.speculating {
		return 0
	}
	return max(0, a.balance.Held)
}

// Speculating reports whether the receiver has not answered yet.
func (a *Account) Speculating() bool { return a.speculating }

// MaySend reports whether a packet of any size may leave. Any positive credit
// is enough; the account goes into debt for the rest (facts B2.2).
func (a *Account) MaySend() bool { return a.balance.Held > 0 }

// Spend charges the account for a packet of n bytes on the wire.
func (a *Account) Spend(now unit.Time, n unit.Bytes) {
	a.balance.Stale += a.lots.expire(now)
	a.lots.take(n)
	a.balance.Spent += n
	a.balance.Held -= n
}

// Answered records that the receiver has answered, by any packet. The remaining
// speculative credit becomes void.
func (a *Account) Answered() {
	if !a.speculating {
		return
	}
	a.speculating = false
	if left := a.balance.Held; left > 0 {
		a.balance.Held = 0
		a.balance.Dropped += left
	}
}

// Grant processes a cumulative credit from the wire, in a field of width c.
// Older values are ignored, so that a lost or duplicated credit is harmless.
// Credit above the window is dropped.
func (a *Account) Grant(now unit.Time, c Counter, wire uint32) {
	a.Answered()
	number := c.Decode(wire, a.pull)
	if number <= a.pull {
		return
	}
	got := unit.Bytes(number-a.pull) * Quantum
	a.pull = number
	a.balance.Stale += a.lots.expire(now)
	kept := min(got, max(0, a.window-a.balance.Held))
	debt := max(0, -a.balance.Held)
	a.lots.add(now, max(0, kept-debt))
	a.balance.Granted += got
	a.balance.Held += kept
	a.balance.Dropped += got - kept
}

// Target returns the cumulative credit to request, in quanta. backlog is the
// number of bytes on the wire that the sender has queued for this receiver.
// receivers is the number of receivers for which it has data queued (facts
// B2.2, CBRC-43).
func (a *Account) Target(backlog unit.Bytes, receivers int) int64 {
	want := backlog
	if a.p.Law != LawBacklog {
		want = min(backlog, a.window) - a.balance.Held
	}
	if a.p.Law == LawShared && receivers > 1 {
		want /= unit.Bytes(receivers)
	}
	if a.speculating && backlog > 0 {
		want = max(want, min(backlog, a.p.MTU))
	}
	// Half of the counter's range, halved again for credit in flight.
	furthest := unit.Bytes(1) << (a.p.Counter - 2) * Quantum
	want = min(max(0, want), furthest)
	return a.pull + int64((want+Quantum-1)/Quantum)
}

// Exceeds reports whether a sender signals excess at that accumulated credit:
// only strictly above the threshold (CBRC-27).
func (a *Account) Exceeds(accumulated unit.Bytes) bool { return a.p.AIMD && accumulated > a.limit }
