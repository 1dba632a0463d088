package nic

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Receiver credit, both ends. All flows between two hosts share one account at the
// sender, and are one peer of the receiver's pacer.

// uetHeaders is the length of a request without its payload, in bytes.
const uetHeaders = frame.UETHeaders + frame.FCSLen

// credits is the credit state of a NIC; nil unless the scheme grants credit.
type credits struct {
	accounts  []account // by destination host of the flows sent here
	ofSender  []int32   // by sender: index into accounts, -1 for a half of a connection
	pacer     credit.Pacer
	ofFlow    []int32            // by receiver: peer of the pacer, -1 for a half of a connection
	flowOf    []int32            // by peer of the pacer: index of its first receiver
	traces    []uint64           // by peer of the pacer: trace of its latest frame
	sampled   []credit.PeerStats // by peer of the pacer: statistics at the last sample
	asks      agenda.Agenda      // by account: when it requests credit
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
	wait    unit.Time      // until the next credit request
	noted   credit.Balance // balance at the latest CreditWasted note
}

// newCredits returns the credit state for the flows of the NIC, grouped by peer.
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

// addCredits adds the senders and receivers from the given indices on. Commands run
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
			c.traces = append(c.traces, 0)
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

// backlog returns what the flows of an account still have to send, in bytes on the
// wire. Packets to retransmit count again.
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

// target returns the bits of target_pull for the next packet of sending flow i, which
// is part of the backlog: the excess signal, or the credit that the account requests.
func (n *NIC) target(i int) uint32 {
	c := n.credits
	a := &c.accounts[c.ofSender[i]]
	accumulated := a.Accumulated()
	if c.scope == credit.ScopeAll {
		accumulated = 0
		for k := range c.accounts {
			accumulated += c.accounts[k].Accumulated()
		}
	}
	if a.Exceeds(accumulated) {
		c.indicated++
		return c.signal
	}
	return c.counter.Encode(n.wanted(a))
}

// noteExcess notes that f, the next packet of sending flow i, carries the excess signal.
func (n *NIC) noteExcess(now unit.Time, i int, f *frame.Frame, out *fabric.Out) {
	c, s := n.credits, &n.senders[i]
	if c == nil || f.CreditTarget() != c.signal {
		return
	}
	out.Note(fabric.Note{
		Event: fabric.NewExcessSignalled(c.accounts[c.ofSender[i]].Accumulated(), psn(s.next)), At: now,
		Flow: s.ID, Priority: s.class, Trace: f.Trace,
	})
}

// wanted returns the cumulative credit that an account requests, in quanta.
func (n *NIC) wanted(a *account) int64 {
	receivers := 1
	if n.cfg.CC.Credit.Law == credit.LawShared {
		receivers = n.waiting()
	}
	return a.Target(n.backlog(a), receivers)
}

// waiting returns the number of receivers for which this host has a backlog.
func (n *NIC) waiting() (count int) {
	for k := range n.credits.accounts {
		if n.backlog(&n.credits.accounts[k]) > 0 {
			count++
		}
	}
	return count
}

// funded reports whether sending flow i may send under its credit.
func (n *NIC) funded(i int) bool {
	return n.credits == nil || n.credits.accounts[n.credits.ofSender[i]].MaySend()
}

// spend debits the account of sending flow i for a packet.
func (n *NIC) spend(now unit.Time, i int, length unit.Bytes, out *fabric.Out) {
	c := n.credits
	k := c.ofSender[i]
	a := &c.accounts[k]
	a.Spend(now, length)
	n.noteWaste(now, a, out)
	n.planAsk(now, int(k))
}

// planAsk schedules the next credit request of an account that has a backlog but no
// credit. It cancels the request of any other account.
func (n *NIC) planAsk(now unit.Time, k int) {
	a := &n.credits.accounts[k]
	at := unit.Never
	if !a.MaySend() && n.backlog(a) > 0 {
		at = now + a.wait
	}
	n.credits.asks.Set(k, at)
}

// ask sends a credit request for account k and doubles the wait before the next one, up
// to 16 times the retry time.
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

// inNeed returns the trace of the next message to send on an account, 0 if none waits.
func (n *NIC) inNeed(a *account) uint64 {
	for _, i := range a.senders {
		if s := &n.senders[i]; s.started && s.next < s.packets {
			return trace(s.ID, s.messages.piece(s.next).message)
		}
	}
	return 0
}

// granted adds credit received from the wire to the account of sending flow i.
func (n *NIC) granted(now unit.Time, i int, width credit.Counter, wire uint32, out *fabric.Out) {
	c := n.credits
	k := c.ofSender[i]
	a := &c.accounts[k]
	a.Grant(now, width, wire)
	a.wait = c.retry
	n.noteWaste(now, a, out)
	n.planAsk(now, int(k))
	if a.MaySend() {
		for _, s := range a.senders {
			n.wake(int(s))
		}
	}
}

// noteWaste notes credit that became stale or was dropped (CBRC-34).
func (n *NIC) noteWaste(now unit.Time, a *account, out *fabric.Out) {
	is := a.Balance(now)
	wasted := is.Wasted() - a.noted.Wasted()
	if wasted == 0 {
		return
	}
	first := &n.senders[a.senders[0]]
	out.Note(fabric.Note{
		Event: fabric.NewCreditWasted(wasted, is.Dropped-a.noted.Dropped), At: now,
		Flow: first.ID, Priority: first.class,
	})
	a.noted = is
}

// grant runs the pacer's timer and sends the credit that it grants.
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
			kind: controlCredit, flow: i, credit: credit.ControlCounter.Truncate(g.Number), trace: c.traces[g.Peer], in: now,
		}, out)
		if out.Wants(c.traces[g.Peer]) {
			out.Note(fabric.Note{
				Event: fabric.NewCreditGranted(g.Quanta, c.pacer.Coefficient(g.Peer)), At: now,
				Flow: n.receivers[i].ID, Priority: n.controlClass, Trace: c.traces[g.Peer],
			})
		}
	}
}

// creditDue returns the next instant at which the NIC grants or requests credit.
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

// creditTick grants and requests the credit that is due at now.
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
