package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/unit"
)

// goBackN is the loss recovery of RoCEv2 (IBTA volume 1 §9.7): ACKs are cumulative, and
// after a loss the sender sends again from the oldest missing packet on. It recovers requests
// that carry their data.
//
//	0 ........ acked ........ cursor ........ high ........ packets
//	  done          in flight       to resend      not yet sent
//
// Invariant: acked <= cursor of the send queue <= high.
type goBackN struct {
	r           *Requester
	acked, high int64
	packet      packet // latest result of next; its request is nil if that is not valid
}

func (g *goBackN) next() *packet {
	if g.packet.request == nil {
		q := &g.r.queue
		number := q.Packet()
		if !q.Unsent() || number-g.acked >= MaxUnacked {
			return nil
		}
		p := &g.packet
		p.part, p.request = q.Next()
		p.number, p.flight, p.turn, p.again = number, p.part.Bytes, number-p.request.First, number < g.high
	}
	return &g.packet
}

func (g *goBackN) sent(now unit.Time, _ unit.Bytes, _ *fabric.Out) {
	q := &g.r.queue
	q.Advance()
	g.packet.request = nil
	g.high = max(g.high, q.Packet())
	if g.r.deadline == unit.Never {
		g.restart(now)
	}
}

func (g *goBackN) oldest() int64 { return g.acked }

func (g *goBackN) acknowledged(now unit.Time, upTo int64, out *fabric.Out) unit.Bytes {
	if upTo <= g.acked || upTo > g.high {
		return 0
	}
	q := &g.r.queue
	if q.Packet() < upTo {
		q.MoveTo(upTo)
		g.packet.request = nil
	}
	from := g.acked
	g.acked = upTo
	g.restart(now)
	return g.r.complete(now, from, upTo, out)
}

// selected ignores the SACK: the packets after the oldest are sent again if that is lost.
func (g *goBackN) selected(int64, uint64) unit.Bytes { return 0 }

// lost ignores a NAK for any packet but the oldest in flight: the sender went back before.
func (g *goBackN) lost(now unit.Time, number int64, out *fabric.Out) {
	if number == g.acked && number < g.r.queue.Packet() {
		g.goBack(now, out)
	}
}

// answered discards the packet: these requests have no response.
func (g *goBackN) answered(now unit.Time, f *frame.Frame, out *fabric.Out) { g.r.Discard(now, f, out) }

func (g *goBackN) overdue(now unit.Time, out *fabric.Out) {
	g.r.timedOut(now, out)
	g.r.spread.missing(now, g.acked, entropy.Timeout)
	g.goBack(now, out)
}

// goBack makes the oldest unacknowledged packet the next one to send.
func (g *goBackN) goBack(now unit.Time, out *fabric.Out) {
	q := &g.r.queue
	again := q.Packet() - g.acked
	q.MoveTo(g.acked)
	g.packet.request = nil
	g.r.Fly(-g.r.inFlight)
	g.r.retransmitted(now, g.acked, again, q.Front(), out)
	g.restart(now)
}

// restart sets the deadline to one timeout from now, or stops the timer if no packet is in
// flight.
func (g *goBackN) restart(now unit.Time) {
	if g.r.Timeout == 0 || g.r.queue.Packet() == g.acked {
		g.r.expire(unit.Never)
		return
	}
	g.r.expire(now + g.r.Timeout)
}
