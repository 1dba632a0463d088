package credit

import "github.com/rackfab/rackfab/fabric/unit"

// Balance is where the credit of an account went, in bytes. At every instant
// Granted + Speculative = Spent + Dropped + Held.
type Balance struct {
	Granted     unit.Bytes // came from the receiver
	Speculative unit.Bytes // taken at the start, before any came
	Spent       unit.Bytes // by packets
	Dropped     unit.Bytes // beyond the window, or speculative and not used
	Held        unit.Bytes // may be below 0 by less than a packet
	// Stale is what was held for longer than the base RTT, whether spent later or
	// not. With Dropped it is the credit wasted (CBRC-34).
	Stale unit.Bytes
}

// Wasted gives the credit that was not spent in time or was lost (CBRC-34).
func (b Balance) Wasted() unit.Bytes { return b.Stale + b.Dropped }

// Account is what a sender knows of one receiver: the credit that it holds and
// what it asks for (facts B2.2).
type Account struct {
	p           *Params
	window      unit.Bytes
	limit       unit.Bytes // the threshold
	pull        int64      // highest cumulative credit that has come, in quanta
	speculating bool
	balance     Balance
	lots        lots
}

// NewAccount makes the account of a sender whose link runs at line. It holds a
// full window at once if p says that starts are speculative.
func NewAccount(p *Params, line unit.Rate) Account {
	a := Account{p: p, window: p.window(line), limit: p.threshold(line), lots: newLots(p.BaseRTT)}
	if p.Start == StartSpeculative {
		a.speculating = true
		a.balance.Speculative, a.balance.Held = a.window, a.window
	}
	return a
}

// Balance tells where the credit went, up to now.
func (a *Account) Balance(now unit.Time) Balance {
	a.balance.Stale += a.lots.expire(now)
	return a.balance
}

// Held gives the credit that may still be spent.
func (a *Account) Held() unit.Bytes { return a.balance.Held }

// Accumulated gives the credit that was received and not spent (CBRC-25); what a
// speculative start takes has not been received.
func (a *Account) Accumulated() unit.Bytes {
	if a.speculating {
		return 0
	}
	return max(0, a.balance.Held)
}

// Speculating tells whether nothing has come back from the receiver yet.
func (a *Account) Speculating() bool { return a.speculating }

// MaySend tells whether a packet of any size may leave: a positive credit is
// enough, the rest is owed (facts B2.2).
func (a *Account) MaySend() bool { return a.balance.Held > 0 }

// Spend pays for a packet of n bytes on the wire.
func (a *Account) Spend(now unit.Time, n unit.Bytes) {
	a.balance.Stale += a.lots.expire(now)
	a.lots.take(n)
	a.balance.Spent += n
	a.balance.Held -= n
}

// Answered says that the receiver has answered, by whatever packet: what is left
// of the speculative credit is void.
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

// Grant takes a cumulative credit from the wire, in a field of width c. Old news
// change nothing, so that a lost or repeated credit is harmless. What would pass
// the window is lost.
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

// Target gives the cumulative credit to ask for, in quanta: backlog is what the
// sender still has for this receiver in bytes on the wire, receivers how many it
// has something for (facts B2.2, CBRC-43).
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
	// Half of the counter's range, less the same again for what is on its way.
	furthest := unit.Bytes(1) << (a.p.Counter - 2) * Quantum
	want = min(max(0, want), furthest)
	return a.pull + int64((want+Quantum-1)/Quantum)
}

// Exceeds tells whether a sender that has accumulated so much credit signals
// excess: more than the threshold, not as much (CBRC-27).
func (a *Account) Exceeds(accumulated unit.Bytes) bool { return a.p.AIMD && accumulated > a.limit }
