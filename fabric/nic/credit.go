package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Receiver credit, both ends: the NIC connects its flows with the accounts that they
// spend and the peers that they are, and sends grants and requests of credit.

// uetHeaders is the length of a request without its payload, in bytes.
const uetHeaders = frame.UETHeaders + frame.FCSLen

// addCredits gives accounts and peers to the senders and receivers from the given indices
// on. Commands run over RoCEv2 and need no credit.
func (n *NIC) addCredits(senders, receivers int) {
	if n.cfg.Notification != cc.NotifyCredit {
		return
	}
	for i := senders; i < len(n.senders); i++ {
		if s := &n.senders[i]; !n.isHalf(s.ID) {
			s.credit = n.accounts.Add(uet.Sender{Index: i, Flow: s.ID, To: s.To, Class: s.class, AIMD: s.Excess})
		}
	}
	for i := receivers; i < len(n.receivers); i++ {
		if r := &n.receivers[i]; !n.isHalf(r.ID) {
			r.peer = n.grantor.Add(r.From, i)
		}
	}
}

// backlog returns what sender i still has to send, in bytes on the wire.
func (n *NIC) backlog(i int) unit.Bytes {
	s := &n.senders[i]
	if !s.started || s.next == s.packets {
		return 0
	}
	left := s.packets - s.next
	if s.Size == Endless || left > int64(unit.Megabyte) {
		return uet.Plenty
	}
	return s.messages.size - s.messages.before(s.next) + unit.Bytes(left)*(uetHeaders+n.cfg.Overhead)
}

// noteExcess notes that f, the next packet of a flow, carries the excess signal.
func (n *NIC) noteExcess(now unit.Time, s *sender, f *frame.Frame, out *fabric.Out) {
	if s.credit.Signals(f.CreditTarget()) {
		out.Note(fabric.Note{
			Event: fabric.NewExcessSignalled(s.credit.Accumulated(), psn(s.next)), At: now,
			Flow: s.ID, Priority: s.class, Trace: f.Trace,
		})
	}
}

// granted adds credit received from the wire to the account of a flow.
func (n *NIC) granted(now unit.Time, s *sender, width credit.Counter, wire uint32, out *fabric.Out) {
	for _, i := range s.credit.Receive(now, width, wire, out) {
		n.wake(i)
	}
}

// creditTick grants and requests the credit that is due at now.
func (n *NIC) creditTick(now unit.Time, out *fabric.Out) {
	for n.grantor.Next() <= now {
		if g, ok := n.grantor.Tick(now); ok {
			n.grant(now, g, out)
		}
	}
	for n.accounts.Next() <= now {
		r := n.accounts.Tick(now)
		n.reply(now, &controlPacket{
			kind: controlCreditRequest, flow: int32(r.Senders()[0]), credit: r.Credit,
			trace: out.Stamp(n.inNeed(r.Account)), in: now,
		}, out)
	}
}

// grant sends a grant of credit.
func (n *NIC) grant(now unit.Time, g uet.Grant, out *fabric.Out) {
	if n.sampleAt == unit.Never {
		n.sampleAt = n.cfg.Sampling.After(now)
	}
	n.reply(now, &controlPacket{kind: controlCredit, flow: int32(g.Receiver()), credit: g.Credit, trace: g.Trace(), in: now}, out)
	if out.Wants(g.Trace()) {
		out.Note(fabric.Note{
			Event: fabric.NewCreditGranted(g.Quanta, g.Coefficient()), At: now,
			Flow: n.receivers[g.Receiver()].ID, Priority: n.controlClass, Trace: g.Trace(),
		})
	}
}

// inNeed returns the trace of the next message to send on an account, 0 if none waits.
func (n *NIC) inNeed(a *uet.Account) uint64 {
	for _, i := range a.Senders() {
		if s := &n.senders[i]; s.started && s.next < s.packets {
			return trace(s.ID, s.messages.piece(s.next).message)
		}
	}
	return 0
}
