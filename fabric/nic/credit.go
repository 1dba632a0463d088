package nic

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Receiver credit, both ends. All flows between two hosts share one account at
// the sender, and count as one sender at the receiver's pacer.

// uetHeaders is what a request has beside its payload, in bytes.
const uetHeaders = frame.UETHeaders + frame.FCSLen

// credits is what a NIC keeps for it; nil unless the scheme grants credit.
type credits struct {
	accounts  []account // by peer that flows from here go to
	ofSender  []int32   // by sender: index into accounts, -1 for a half of a connection
	pacer     credit.Pacer
	ofFlow    []int32            // by receiver: sender of the pacer, -1 for a half of a connection
	flowOf    []int32            // by sender of the pacer: a receiving flow of it
	heard     []uint64           // by sender of the pacer: the message beside its latest frame
	sampled   []credit.PeerStats // by sender of the pacer: up to the last sample
	asks      agenda.Agenda      // by account: when it asks for credit
	retry     unit.Time
	scope     credit.Scope
	signal    uint32 // the excess signal
	counter   credit.Counter
	indicated int64
}

// account is the credit that one receiver has granted to this host.
type account struct {
	credit.Account
	senders []int32
	wait    unit.Time      // before it asks again
	told    credit.Balance // up to the latest note of waste
}

// newCredits groups the flows of the NIC by their peers.
func (n *NIC) newCredits() *credits {
	p := &n.cfg.CC.Credit
	if p.MTU == 0 {
		p.MTU = n.cfg.Payload + uetHeaders + n.cfg.Overhead
	}
	c := &credits{
		retry: p.Retry, scope: p.Scope, signal: p.Excess.Signal(p.Counter), counter: p.Counter,
	}
	c.pacer = credit.NewPacer(p, n.cfg.Rate, 0)
	n.addCredits(c, 0, 0)
	return c
}

// addCredits takes in the senders and receivers from those places on. Commands run
// over RoCEv2 and need no credit.
func (n *NIC) addCredits(c *credits, senders, receivers int) {
	p := &n.cfg.CC.Credit
	for i := senders; i < len(n.senders); i++ {
		if n.isHalf(n.senders[i].ID) {
			c.ofSender = append(c.ofSender, -1)
			continue
		}
		to := n.senders[i].To
		peer := slices.IndexFunc(c.accounts, func(a account) bool { return n.senders[a.senders[0]].To == to })
		if peer < 0 {
			peer = len(c.accounts)
			own := *p
			own.AIMD = p.AIMD || n.senders[i].Excess
			c.accounts = append(c.accounts, account{Account: credit.NewAccount(&own, n.cfg.Rate), wait: p.Retry})
		}
		c.accounts[peer].senders = append(c.accounts[peer].senders, int32(i))
		c.ofSender = append(c.ofSender, int32(peer))
	}
	for i := receivers; i < len(n.receivers); i++ {
		if n.isHalf(n.receivers[i].ID) {
			c.ofFlow = append(c.ofFlow, -1)
			continue
		}
		from := n.receivers[i].From
		peer := slices.IndexFunc(c.flowOf, func(k int32) bool { return n.receivers[k].From == from })
		if peer < 0 {
			peer = len(c.flowOf)
			c.flowOf = append(c.flowOf, int32(i))
			c.sampled = append(c.sampled, credit.PeerStats{})
			c.heard = append(c.heard, 0)
			c.pacer.Add()
		}
		c.ofFlow = append(c.ofFlow, int32(peer))
	}
	asks := agenda.New(len(c.accounts))
	for k := range min(len(c.accounts), c.asks.Len()) {
		asks.Set(k, c.asks.At(k))
	}
	c.asks = asks
}

// backlog gives what the flows of an account still have to send, in bytes on the
// wire; resent packets count again.
func (n *NIC) backlog(a *account) (sum unit.Bytes) {
	for _, i := range a.senders {
		s := &n.senders[i]
		if !s.started || s.next == s.packets {
			continue
		}
		left := s.packets - s.next
		if s.Size == Endless || left > int64(unit.Megabyte) {
			return 1 << 40
		}
		sum += s.messages.size - s.messages.before(s.next) + unit.Bytes(left)*(uetHeaders+n.cfg.Overhead)
	}
	return sum
}

// target gives the bits of target_pull for the next packet of sending flow i,
// which is part of the backlog: the excess signal, or what the account asks for.
func (n *NIC) target(i int) uint32 {
	c := n.credits
	a := &c.accounts[c.ofSender[i]]
	held := a.Accumulated()
	if c.scope == credit.ScopeAll {
		held = 0
		for k := range c.accounts {
			held += c.accounts[k].Accumulated()
		}
	}
	if a.Exceeds(held) {
		c.indicated++
		return c.signal
	}
	return c.counter.Encode(n.wanted(a))
}

// noteExcess notes that the next packet of sending flow i, which f is, carries the
// excess signal.
func (n *NIC) noteExcess(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	c, s := n.credits, &n.senders[i]
	if c == nil || f.CreditTarget() != c.signal {
		return
	}
	out.Note(fabric.Note{
		Kind: fabric.ExcessSignalled, At: now, Flow: s.ID, Priority: s.class,
		A: int64(c.accounts[c.ofSender[i]].Accumulated()), B: int64(psn(s.next)), Trace: f.Trace,
	})
}

// wanted gives the cumulative credit, in quanta, that an account asks for.
func (n *NIC) wanted(a *account) int64 {
	receivers := 1
	if n.cfg.CC.Credit.Law == credit.LawShared {
		receivers = n.waiting()
	}
	return a.Target(n.backlog(a), receivers)
}

// waiting counts the receivers that this host has something for.
func (n *NIC) waiting() (count int) {
	for k := range n.credits.accounts {
		if n.backlog(&n.credits.accounts[k]) > 0 {
			count++
		}
	}
	return count
}

// funded tells whether sending flow i may spend credit.
func (n *NIC) funded(i int) bool {
	return n.credits == nil || n.credits.accounts[n.credits.ofSender[i]].MaySend()
}

// spend pays for a packet of sending flow i.
func (n *NIC) spend(now unit.Time, i int, length unit.Bytes, out *fabric.Out) {
	c := n.credits
	k := c.ofSender[i]
	a := &c.accounts[k]
	a.Spend(now, length)
	n.tellWaste(now, a, out)
	n.planAsk(now, int(k))
}

// planAsk sets the instant at which an account without credit asks for some, if
// it has something to send and nothing comes until then.
func (n *NIC) planAsk(now unit.Time, k int) {
	a := &n.credits.accounts[k]
	at := unit.Never
	if !a.MaySend() && n.backlog(a) > 0 {
		at = now + a.wait
	}
	n.credits.asks.Set(k, at)
}

// ask sends a request for credit on account k, and waits twice as long, up to 16
// times, for the next.
func (n *NIC) ask(now unit.Time, k int, out *fabric.Out) {
	c := n.credits
	a := &c.accounts[k]
	n.reply(now, controlPacket{
		kind: controlCreditRequest, flow: a.senders[0], credit: credit.ControlCounter.Truncate(n.wanted(a)),
		trace: out.Stamp(n.inNeed(a)), in: now,
	}, out)
	a.wait = min(2*a.wait, 16*c.retry)
	n.planAsk(now, k)
}

// inNeed names the message that is the first to be sent on an account, 0 for none.
func (n *NIC) inNeed(a *account) uint64 {
	for _, i := range a.senders {
		if s := &n.senders[i]; s.started && s.next < s.packets {
			return trace(s.ID, s.messages.piece(s.next).message)
		}
	}
	return 0
}

// granted takes credit from the wire for the account of sending flow i.
func (n *NIC) granted(now unit.Time, i int, width credit.Counter, wire uint32, out *fabric.Out) {
	c := n.credits
	k := c.ofSender[i]
	a := &c.accounts[k]
	a.Grant(now, width, wire)
	a.wait = c.retry
	n.tellWaste(now, a, out)
	n.planAsk(now, int(k))
	if a.MaySend() {
		for _, s := range a.senders {
			n.wake(int(s))
		}
	}
}

// tellWaste notes credit that has become stale or was lost (CBRC-34).
func (n *NIC) tellWaste(now unit.Time, a *account, out *fabric.Out) {
	is := a.Balance(now)
	wasted := is.Wasted() - a.told.Wasted()
	if wasted == 0 {
		return
	}
	first := &n.senders[a.senders[0]]
	out.Note(fabric.Note{
		Kind: fabric.CreditWasted, At: now, Flow: first.ID, Priority: first.class,
		A: int64(wasted), B: int64(is.Dropped - a.told.Dropped),
	})
	a.told = is
}

// grant fires the pacer's timer and sends what it gives.
func (n *NIC) grant(now unit.Time, out *fabric.Out) {
	c := n.credits
	for {
		at, ok := c.pacer.Next()
		if !ok || at > now {
			return
		}
		g, ok := c.pacer.Tick(now)
		if !ok {
			continue
		}
		if n.sampleAt == unit.Never {
			n.sampleAt = n.cfg.Sampling.After(now)
		}
		i := c.flowOf[g.Peer]
		n.reply(now, controlPacket{
			kind: controlCredit, flow: i, credit: credit.ControlCounter.Truncate(g.Number), trace: c.heard[g.Peer], in: now,
		}, out)
		if out.Wants(c.heard[g.Peer]) {
			out.Note(fabric.Note{
				Kind: fabric.CreditGranted, At: now, Flow: n.receivers[i].ID, Priority: n.controlClass,
				A: g.Quanta, B: int64(c.pacer.Coefficient(g.Peer) * 1000), Trace: c.heard[g.Peer],
			})
		}
	}
}

// creditDue gives the instant at which credit has to be granted or asked for.
func (n *NIC) creditDue() unit.Time {
	if n.credits == nil {
		return unit.Never
	}
	_, due := n.credits.asks.First()
	if at, ok := n.credits.pacer.Next(); ok {
		due = min(due, at)
	}
	return due
}

// creditTick does what creditDue announced.
func (n *NIC) creditTick(now unit.Time, out *fabric.Out) {
	if n.credits == nil {
		return
	}
	n.grant(now, out)
	for {
		k, at := n.credits.asks.First()
		if at > now {
			return
		}
		n.ask(now, k, out)
	}
}
