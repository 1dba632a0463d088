package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/unit"
)

// TickCredit grants and requests the credit that is due at now. It reports whether the
// NIC granted any.
func (t *Table) TickCredit(now unit.Time, out *fabric.Out) (granted bool) {
	for t.Grantor.Next() <= now {
		if g, ok := t.Grantor.Tick(now); ok {
			t.grant(now, g, out)
			granted = true
		}
	}
	for t.Accounts.Next() <= now {
		r := t.Accounts.Tick(now)
		t.Control.Put(now, &control.Packet{
			Kind: control.CreditRequest, From: t.flows[r.Senders()[0]], Credit: r.Credit,
			Trace: out.Stamp(t.inNeed(r.Account)), In: now,
		}, out)
	}
	return granted
}

// grant sends a grant of credit.
func (t *Table) grant(now unit.Time, g uet.Grant, out *fabric.Out) {
	r := t.Responders[g.Receiver()]
	t.Control.Put(now, &control.Packet{Kind: control.Credit, From: r, Credit: g.Credit, Trace: g.Trace(), In: now}, out)
	if out.Wants(g.Trace()) {
		out.Note(fabric.Note{
			Event: fabric.NewCreditGranted(g.Quanta, g.Coefficient()), At: now,
			Flow: r.ID, Priority: t.ControlClass(), Trace: g.Trace(),
		})
	}
}

// inNeed returns the trace of the next message to send on an account, 0 if none waits.
func (t *Table) inNeed(a *uet.Account) uint64 {
	for _, i := range a.Senders() {
		r := t.flows[i]
		switch {
		case !r.unsent():
		case r.queue.Unsent():
			_, w := r.queue.Next()
			return Trace(r.ID, int64(w.ID))
		default:
			return Trace(r.ID, int64(r.queue.Front().ID))
		}
	}
	return 0
}

// SampleCredit notes the credit granted to each peer since the last sample.
func (t *Table) SampleCredit(now unit.Time, out *fabric.Out) {
	for peer, s := range t.Grantor.Samples() {
		out.Note(fabric.Note{
			Event: fabric.NewCreditSampled(unit.Bytes(s.Quanta)*credit.Quantum, s.Indicated), At: now,
			Flow: t.Responders[peer.Receiver()].ID, Priority: t.ControlClass(),
		})
	}
}
