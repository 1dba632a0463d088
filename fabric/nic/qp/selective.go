package qp

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// selective is selective repeat as in IRN (Mittal et al., SIGCOMM 2018): after a loss the
// sender sends again what the SACKs show to be missing, and nothing else. It recovers requests
// that carry their data.
//
//	                    NAK of the oldest packet, or timeout
//	+------+ --------------------------------------------------> +------------+
//	| SEND |                                                     | RECOVERING |
//	+------+ <-------------------------------------------------- +------------+
//	         all packets sent before the recovery are acknowledged
//
// While it recovers it first sends the lost packets, each once, and then new ones. The oldest
// packet is lost, and each one below a packet that the peer has placed. The loss of a
// retransmission is found by the timeout.
//
//	0 ........ acked ........ again ........ bound ........ cursor ........ packets
//	  done           sent again, or placed      lost, or placed   in flight  not yet sent
//
// Invariant: acked <= bound <= cursor of the send queue, while it recovers.
type selective struct {
	r       *Requester
	window  int64 // BDP-FC: the maximum number of packets in flight
	acked   int64 // the packets below it have arrived
	placed  bitmap
	target  int64     // the recovery ends when the packets below it have arrived
	again   int64     // the packets below it have been sent again
	bound   int64     // the packets below it are lost, unless they are placed
	started unit.Time // start of the timer
	expired int       // timeouts in a row
	part    work.Part // of the next packet, if it is sent again
	packet  packet    // latest result of next; its request is nil if that is not valid
}

// maxBackoff is the maximum number of doublings of the timeout.
const maxBackoff = 6

// newSelective returns the recovery of a flow with that path.
func newSelective(r *Requester, path cc.Path) *selective {
	return &selective{r: r, window: min(r.CC.IRN.Window(path), MaxWindow)}
}

// recovering reports whether packets sent before the recovery are missing.
func (s *selective) recovering() bool { return s.acked < s.target }

func (s *selective) next() *packet {
	if s.packet.request != nil {
		return &s.packet
	}
	q, p := &s.r.queue, &s.packet
	if n := s.placed.missing(max(s.again, s.acked)); s.recovering() && n < s.bound {
		s.part, p.request = q.PartAt(n)
		p.part, p.number, p.flight, p.again = &s.part, n, 0, true
	} else {
		n = q.Packet()
		if !q.Unsent() || n-s.acked >= s.window {
			return nil
		}
		p.part, p.request = q.Next()
		p.number, p.flight, p.again = n, p.part.Bytes, false
	}
	p.turn = p.number - p.request.First
	return p
}

func (s *selective) sent(now unit.Time, _ unit.Bytes, out *fabric.Out) {
	if p := &s.packet; p.again {
		s.again = p.number + 1
		s.r.retransmitted(now, p.number, 1, p.request, out)
	} else {
		s.r.queue.Advance()
	}
	s.packet.request = nil
	if s.r.deadline == unit.Never {
		s.restart(now)
	}
}

func (s *selective) oldest() int64 { return s.acked }

func (s *selective) acknowledged(now unit.Time, upTo int64, out *fabric.Out) unit.Bytes {
	q := &s.r.queue
	if upTo <= s.acked || upTo > q.Packet() {
		return 0
	}
	before := s.payloadPlaced(upTo)
	from := s.acked
	s.acked, s.expired, s.packet.request = upTo, 0, nil
	s.placed.drop(upTo)
	s.partly()
	s.restart(now)
	after := s.r.complete(now, from, upTo, out)
	s.r.owner.Offer() // the window has room, even if all of the payload was placed before
	return after - before
}

// partly handles an acknowledgement while the requester recovers. If it leaves packets of the
// recovery, the oldest is lost (RFC 6582 §3.2, partial acknowledgement). If it ends the recovery and
// later packets are lost, it begins the next one, which does not send again what this one has.
func (s *selective) partly() {
	switch {
	case s.recovering():
		s.bound = max(s.bound, s.acked+1)
	case s.acked < s.bound:
		s.target = s.r.queue.Packet()
	}
}

// payloadPlaced returns the payload of the placed packets below upTo.
func (s *selective) payloadPlaced(upTo int64) (payload unit.Bytes) {
	for n := s.acked; n < min(upTo, s.placed.end); n++ {
		if s.placed.has(n) {
			payload += s.payload(n)
		}
	}
	return payload
}

// payload returns the payload of a packet in flight.
func (s *selective) payload(n int64) unit.Bytes {
	part, _ := s.r.queue.PartAt(n)
	return part.Bytes
}

// selected records the packets in flight that a SACK reports as placed.
func (s *selective) selected(sack frame.SACK) (payload unit.Bytes) {
	base := nearest(s.acked, sack.Base)
	for set := sack.Bitmap; set != 0; {
		i := bits.LeadingZeros64(set)
		set &^= 1 << (63 - i)
		if n := base + int64(i); s.acked <= n && n < s.r.queue.Packet() && !s.placed.has(n) {
			payload += s.payload(n)
			s.placed.add(n)
		}
	}
	s.packet.request = nil
	return payload
}

// lost ignores a NAK for any packet but the oldest in flight, which is out of date. The first NAK
// begins the recovery; the later ones report placed packets, so that those below are lost.
func (s *selective) lost(now unit.Time, number int64, _ *fabric.Out) {
	if number != s.acked || number == s.r.queue.Packet() {
		return
	}
	if !s.recovering() {
		s.recover(now)
	}
	s.bound = max(s.bound, s.placed.end)
	s.packet.request = nil
}

// recover begins a recovery that sends the oldest packet again.
func (s *selective) recover(now unit.Time) {
	s.target, s.again, s.bound = s.r.queue.Packet(), s.acked, max(s.acked+1, s.placed.end)
	s.packet.request = nil
	s.restart(now)
}

// answered discards the packet: these requests have no response.
func (s *selective) answered(now unit.Time, f *frame.Frame, out *fabric.Out) {
	s.r.Discard(now, f, out)
}

// overdue begins a recovery, unless more packets are in flight than when the timer was started,
// so that the timeout is longer. If the retries are used up, the flow fails.
func (s *selective) overdue(now unit.Time, out *fabric.Out) {
	if at := s.due(); at > now {
		s.r.expire(at)
		return
	}
	s.r.timedOut(now, out)
	if limit := s.r.CC.IRN.Retries; limit > 0 && s.expired >= limit {
		s.r.consumer.fail(now, out)
		return
	}
	s.expired++
	s.recover(now)
}

// restart starts the timer, or stops it if no packet is in flight.
func (s *selective) restart(now unit.Time) {
	s.started = now
	s.r.expire(s.due())
}

// due returns the end of the timeout: RTO_low with few packets in flight, else RTO_high (IRN, SIGCOMM 2018). It
// doubles with every timeout in a row.
func (s *selective) due() unit.Time {
	flying, p := s.r.queue.Packet()-s.acked, &s.r.CC.IRN
	if flying == 0 {
		return unit.Never
	}
	rto := p.RTOHigh
	if flying < int64(p.FewPackets) {
		rto = p.RTOLow
	}
	return s.started + rto<<min(s.expired, maxBackoff)
}
