package uet

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	us   = unit.Microsecond
	line = 40 * unit.GigabitPerSec
)

// params returns valid settings, edited by change.
func params(change ...func(*credit.Params)) *credit.Params {
	p := cc.Default().Credit
	p.MTU, p.BaseRTT, p.Start, p.Retry = 1100, 25*us, credit.StartAsked, 10*us
	for _, edit := range change {
		edit(&p)
	}
	return &p
}

// waiting is a backlog by sender.
type waiting []unit.Bytes

func (w waiting) of(sender int) unit.Bytes { return w[sender] }

func TestFlowsToAHostShareAnAccount(t *testing.T) {
	c := NewAccounts(params(), line, waiting{0, 0, 0}.of)
	a, b, again := c.Add(Sender{Index: 0, To: 7}), c.Add(Sender{Index: 1, To: 8}), c.Add(Sender{Index: 2, To: 7})
	if a == b || a != again || len(a.Senders()) != 2 || a.Senders()[1] != 2 {
		t.Errorf("accounts %p, %p and %p, senders %v", a, b, again, a.Senders())
	}
}

func TestUnlimitedAccountNeedsNoCredit(t *testing.T) {
	c := NewAccounts(params(), line, nil)
	a := c.Unlimited()
	var out fabric.Out
	a.Begin(0)
	a.Spend(0, 1_000_000, &out)
	a.Plan(0)
	if !a.MaySend() || a.Limited() || a.Signals(0) || c.Next() != unit.Never || len(out.Notes) != 0 {
		t.Errorf("may send %v, next request at %v, notes %+v", a.MaySend(), c.Next(), out.Notes)
	}
}

// A flow without credit requests it at once, and again after a wait that doubles up to 16
// times the retry time. Credit ends the requests and wakes all flows of the account.
func TestRequestsAreRepeated(t *testing.T) {
	left := waiting{5000, 0}
	c := NewAccounts(params(), line, left.of)
	a := c.Add(Sender{Index: 0, To: 7})
	c.Add(Sender{Index: 1, To: 7})
	var out fabric.Out
	if a.Begin(0); a.MaySend() || c.Next() != 0 {
		t.Fatalf("may send %v, requests at %v", a.MaySend(), c.Next())
	}
	at := unit.Time(0)
	for _, wait := range []unit.Time{2, 4, 8, 16, 16} {
		r := c.Tick(at)
		if r.Account != a || r.Credit != 20 { // 5000 bytes
			t.Errorf("request for %d quanta", r.Credit)
		}
		if at += wait * 10 * us; c.Next() != at {
			t.Errorf("next request at %v, want %v", c.Next(), at)
		}
	}
	if woken := a.Receive(at, credit.ControlCounter, 20, &out); len(woken) != 2 || c.Next() != unit.Never {
		t.Errorf("credit wakes %v, next request at %v", woken, c.Next())
	}
	left[0] = 1000
	a.Spend(at, 20*credit.Quantum, &out)
	if c.Next() != at+10*us {
		t.Errorf("next request at %v, want the retry time after %v", c.Next(), at)
	}
	left[0] = 0
	if a.Plan(at); c.Next() != unit.Never {
		t.Errorf("a request at %v without a backlog", c.Next())
	}
}

// A backlog of an endless flow is not added up.
func TestEndlessBacklogIsPlenty(t *testing.T) {
	c := NewAccounts(params(), line, waiting{5000, 3 * Plenty}.of)
	a := c.Add(Sender{Index: 0, To: 7})
	c.Add(Sender{Index: 1, To: 7})
	if got := a.backlog(); got != Plenty {
		t.Errorf("backlog %d, want %d", got, Plenty)
	}
}

// CBRC-26: the threshold may apply to all receivers of a sender together.
func TestExcessCountsAllReceivers(t *testing.T) {
	for scope, want := range map[credit.Scope]bool{credit.ScopePair: false, credit.ScopeAll: true} {
		c := NewAccounts(params(func(p *credit.Params) { p.AIMD, p.Threshold, p.Scope = true, 3000, scope }), line, waiting{0, 0}.of)
		a, b := c.Add(Sender{Index: 0, To: 1}), c.Add(Sender{Index: 1, To: 2})
		a.Grant(0, 32, 8)
		b.Grant(0, 32, 8)
		if got := a.Signals(a.Target()); got != want || c.Indicated() == 0 == want {
			t.Errorf("scope %s, 2048 bytes of each of two: excess %v, want %v", scope, got, want)
		}
	}
}

// The first flow to a host determines whether its account is under AIMD.
func TestAccountIsUnderAIMDByItsFirstFlow(t *testing.T) {
	c := NewAccounts(params(func(p *credit.Params) { p.Threshold = 1000 }), line, waiting{0, 0}.of)
	for i, want := range []bool{true, false} {
		a := c.Add(Sender{Index: i, To: i, AIMD: want})
		if a.Grant(0, 32, 8); a.Signals(a.Target()) != want {
			t.Errorf("flow %d: excess %v, want %v", i, !want, want)
		}
	}
}

// RCCC-2: Under the shared law, a sender requests a share for each receiver with a backlog.
func TestSharedLawCountsReceivers(t *testing.T) {
	left := waiting{10_240, 10_240}
	c := NewAccounts(params(func(p *credit.Params) { p.Law = credit.LawShared }), line, left.of)
	a := c.Add(Sender{Index: 0, To: 1})
	c.Add(Sender{Index: 1, To: 2})
	both := a.wanted()
	left[1] = 0
	if alone := a.wanted(); both != 20 || alone != 40 {
		t.Errorf("requests %d quanta with two receivers, %d with one; want 20 and 40", both, alone)
	}
}

// MRC-11: credit is certain to outlast a packet only if enough is left for one of each flow that has
// something to send to the receiver, and only after the first answer, which voids the credit of the start.
func TestCreditOutlastsAPacketOfEachFlow(t *testing.T) {
	left := waiting{5000, 5000, 0, 5000}
	c := NewAccounts(params(), line, left.of)
	a := c.Add(Sender{Index: 0, To: 1})
	c.Add(Sender{Index: 1, To: 1})
	c.Add(Sender{Index: 2, To: 1})
	c.Add(Sender{Index: 3, To: 2})
	a.Grant(0, credit.ControlCounter, 8)
	if !a.Outlasts(1023) || a.Outlasts(1024) {
		t.Errorf("2048 bytes for two flows outlast 1023: %v, 1024: %v", a.Outlasts(1023), a.Outlasts(1024))
	}
	if left[1] = 0; !a.Outlasts(2047) || a.Outlasts(2048) {
		t.Errorf("2048 bytes for one flow outlast 2047: %v, 2048: %v", a.Outlasts(2047), a.Outlasts(2048))
	}
	c = NewAccounts(params(func(p *credit.Params) { p.Start = credit.StartSpeculative }), line, left.of)
	a = c.Add(Sender{Index: 0, To: 1})
	if !c.Unlimited().Outlasts(1<<40) || a.Outlasts(1) {
		t.Error("want certain credit without a limit only, not at the start")
	}
	if a.Grant(0, credit.ControlCounter, 8); !a.Outlasts(1000) {
		t.Error("granted credit does not outlast a packet")
	}
}

// CBRC-34: credit above the window is noted as wasted, once.
func TestWasteIsNotedOnce(t *testing.T) {
	c := NewAccounts(params(func(p *credit.Params) { p.Window = 10 * credit.Quantum }), line, waiting{0}.of)
	a := c.Add(Sender{Index: 0, Flow: 9, To: 1, Class: 3})
	var out fabric.Out
	for range 2 {
		a.Receive(0, credit.ControlCounter, 30, &out)
	}
	if len(out.Notes) != 1 {
		t.Fatalf("notes %+v", out.Notes)
	}
	if n := out.Notes[0]; n.Kind != fabric.CreditWasted || n.Bytes() != 20*credit.Quantum || n.Flow != 9 || n.Priority != 3 {
		t.Errorf("%+v", n)
	}
}
