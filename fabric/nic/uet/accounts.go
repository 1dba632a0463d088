// Package uet makes receiver credit a source of permission to send: at the sender, flows
// spend the credit of an Account; at the receiver, a Grantor grants credit to its peers.
// All flows between two hosts share one account at the sender, and are one peer at the
// receiver. The package knows numbers and instants; the NIC builds and sends the packets.
package uet

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Plenty is a backlog above all limits. The backlog of an endless flow may be reported as
// Plenty.
const Plenty unit.Bytes = 1 << 40

// maxWait bounds the time between two credit requests, as a multiple of the retry time.
const maxWait = 16

// Accounts is the credit that a host holds, by the receivers of its flows.
type Accounts struct {
	p         *credit.Params
	line      unit.Rate                   // of the host's link
	backlog   func(sender int) unit.Bytes // what a flow still has to send, on the wire
	list      []*Account
	asks      agenda.Agenda // by account: when it requests credit
	next      unit.Time     // the earliest of asks
	unlimited Account
	indicated int64
}

// Account is the credit that one receiver has granted to this host.
type Account struct {
	credit.Account
	all     *Accounts // nil if the account is unlimited
	index   int       // in Accounts.list
	to      int       // host
	senders []int
	flow    fabric.FlowID // of its notes: the first sender's
	class   fabric.Priority
	wait    unit.Time      // until the next credit request
	noted   credit.Balance // balance at the latest CreditWasted note
}

// Sender is a flow that spends credit.
type Sender struct {
	Index int // as backlog and Request use it
	Flow  fabric.FlowID
	To    int // host
	Class fabric.Priority
	AIMD  bool // the receiver reduces grants that the flow cannot spend
}

// NewAccounts returns the accounts of a host without flows. backlog returns what a flow
// still has to send, in bytes on the wire; packets to retransmit count again.
func NewAccounts(p *credit.Params, line unit.Rate, backlog func(sender int) unit.Bytes) Accounts {
	return Accounts{p: p, line: line, backlog: backlog, next: unit.Never}
}

// Unlimited returns an account for flows that need no credit.
func (c *Accounts) Unlimited() *Account { return &c.unlimited }

// Indicated returns the number of packets with the excess signal.
func (c *Accounts) Indicated() int64 { return c.indicated }

// Add returns the account of a new flow, which is that of earlier flows to the same host.
// The first flow to a host determines whether it is under AIMD.
func (c *Accounts) Add(s Sender) *Account {
	for _, a := range c.list {
		if a.to == s.To {
			a.senders = append(a.senders, s.Index)
			return a
		}
	}
	own := *c.p
	own.AIMD = own.AIMD || s.AIMD
	a := &Account{
		Account: credit.NewAccount(&own, c.line), all: c, index: len(c.list),
		to: s.To, senders: []int{s.Index}, flow: s.Flow, class: s.Class, wait: own.Retry,
	}
	c.list = append(c.list, a)
	asks := agenda.New(len(c.list))
	for k := range a.index {
		asks.Set(k, c.asks.At(k))
	}
	c.asks = asks
	return a
}

// Request is a credit request.
type Request struct {
	*Account
	Credit uint32 // cumulative, as a control packet carries it
}

// Next returns the instant of the next credit request, Never if none is planned.
func (c *Accounts) Next() unit.Time { return c.next }

// Tick returns the request that Next announced, and doubles the wait before the account's
// next one, up to maxWait times the retry time.
func (c *Accounts) Tick(now unit.Time) Request {
	k, _ := c.asks.First()
	a := c.list[k]
	r := Request{a, credit.ControlCounter.Truncate(a.wanted())}
	a.wait = min(2*a.wait, maxWait*c.p.Retry)
	a.plan(now)
	return r
}

func (c *Accounts) schedule(a *Account, at unit.Time) {
	c.asks.Set(a.index, at)
	c.next = c.asks.Next()
}

// Senders returns the flows of the account, in the order of Add.
func (a *Account) Senders() []int { return a.senders }

// Limited reports whether the flows of the account need credit.
func (a *Account) Limited() bool { return a.all != nil }

// MaySend reports whether the flows of the account may send.
func (a *Account) MaySend() bool { return a.all == nil || a.Account.MaySend() }

// Outlasts reports whether a flow that sends a packet of that length on the wire is certain of
// credit for another: enough is left if each flow of the account sends such a packet, and it cannot become void.
func (a *Account) Outlasts(length unit.Bytes) bool {
	return a.all == nil || !a.Speculating() && a.Held() > length*unit.Bytes(a.sending())
}

// sending returns the number of flows of the account that have something to send.
func (a *Account) sending() (count int) {
	for _, i := range a.senders {
		if a.all.backlog(i) > 0 {
			count++
		}
	}
	return count
}

// Begin requests credit at once if a flow that starts now has none.
func (a *Account) Begin(now unit.Time) {
	if !a.MaySend() {
		a.all.schedule(a, now)
	}
}

// Answered records that the receiver has answered, see credit.Account.
func (a *Account) Answered() {
	if a.Limited() {
		a.Account.Answered()
	}
}

// Spend debits the account for a packet.
func (a *Account) Spend(now unit.Time, length unit.Bytes, out *fabric.Out) {
	if a.Limited() {
		a.spend(now, length, out)
	}
}

func (a *Account) spend(now unit.Time, length unit.Bytes, out *fabric.Out) {
	a.Account.Spend(now, length)
	a.noteWaste(now, out)
	a.plan(now)
}

// Receive adds credit received from the wire, in a field of the given width. It returns the
// flows that may send now.
func (a *Account) Receive(now unit.Time, width credit.Counter, wire uint32, out *fabric.Out) []int {
	a.Grant(now, width, wire)
	a.wait = a.all.p.Retry
	a.noteWaste(now, out)
	a.plan(now)
	if !a.MaySend() {
		return nil
	}
	return a.senders
}

// Plan schedules the next credit request after the backlog has changed.
func (a *Account) Plan(now unit.Time) {
	if a.Limited() {
		a.plan(now)
	}
}

// plan schedules the next credit request if the account has a backlog but no credit.
// Otherwise it cancels the request.
func (a *Account) plan(now unit.Time) {
	at := unit.Never
	if !a.MaySend() && a.backlog() > 0 {
		at = now + a.wait
	}
	a.all.schedule(a, at)
}

// backlog returns what the flows of the account still have to send, in bytes on the wire.
func (a *Account) backlog() (sum unit.Bytes) {
	for _, i := range a.senders {
		b := a.all.backlog(i)
		if b >= Plenty {
			return Plenty
		}
		sum += b
	}
	return sum
}

// Target returns the bits of target_pull for the next packet of the account, which is part
// of the backlog: the excess signal, or the credit that the account requests.
func (a *Account) Target() uint32 {
	c := a.all
	if a.Exceeds(c.accumulated(a)) {
		c.indicated++
		return c.signal()
	}
	return c.p.Counter.Encode(a.wanted())
}

// accumulated returns the credit that counts for the excess signal of an account.
func (c *Accounts) accumulated(a *Account) unit.Bytes {
	if c.p.Scope != credit.ScopeAll {
		return a.Accumulated()
	}
	sum := unit.Bytes(0)
	for _, other := range c.list {
		sum += other.Accumulated()
	}
	return sum
}

// signal returns the bits of the excess signal.
func (c *Accounts) signal() uint32 { return c.p.Excess.Signal(c.p.Counter) }

// Signals reports whether the bits of target_pull are the excess signal.
func (a *Account) Signals(target uint32) bool { return a.Limited() && target == a.all.signal() }

// wanted returns the cumulative credit that the account requests, in quanta.
func (a *Account) wanted() int64 {
	receivers := 1
	if a.all.p.Law == credit.LawShared {
		receivers = a.all.waiting()
	}
	return a.Account.Target(a.backlog(), receivers)
}

// waiting returns the number of receivers for which this host has a backlog.
func (c *Accounts) waiting() (count int) {
	for _, a := range c.list {
		if a.backlog() > 0 {
			count++
		}
	}
	return count
}

// noteWaste notes credit that became stale or was dropped (CBRC-34).
func (a *Account) noteWaste(now unit.Time, out *fabric.Out) {
	is := a.Balance(now)
	wasted := is.Wasted() - a.noted.Wasted()
	if wasted == 0 {
		return
	}
	out.Note(fabric.Note{Event: fabric.NewCreditWasted(wasted, is.Dropped-a.noted.Dropped), At: now, Flow: a.flow, Priority: a.class})
	a.noted = is
}
