package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
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
//	acked ........ bound ........ cursor
//	  lost or sent again, or placed   in flight
//
// Invariant: acked <= bound <= cursor of the send queue, while it recovers.
type selective struct {
	selection           // window is BDP-FC
	target    int64     // the recovery ends when the packets below it have arrived
	bound     int64     // the packets below it are lost or sent again, unless they are placed
	started   unit.Time // start of the timer
	expired   int       // timeouts in a row
}

// newSelective returns the recovery of a flow with that path.
func newSelective(r *Requester, path cc.Path) *selective {
	return &selective{selection: selection{r: r, window: min(r.CC.IRN.Window(path), MaxWindow)}}
}

// recovering reports whether packets sent before the recovery are missing.
func (s *selective) recovering() bool { return s.acked < s.target }

func (s *selective) sent(now unit.Time, _ unit.Bytes, out *fabric.Out) {
	s.took(now, out)
	if s.r.deadline == unit.Never {
		s.restart(now)
	}
}

func (s *selective) acknowledged(now unit.Time, upTo int64, out *fabric.Out) unit.Bytes {
	if upTo <= s.acked || upTo > s.r.queue.Packet() {
		return 0
	}
	bytes := s.arrived(now, upTo, out)
	s.expired = 0
	s.partly(now)
	s.restart(now)
	s.r.owner.Offer() // the window has room, even if all of the payload was placed before
	return bytes
}

// partly handles an acknowledgement while the requester recovers. If it leaves packets of the
// recovery, the oldest is lost (RFC 6582 §3.2, partial acknowledgement). If it ends the recovery and
// later packets are lost, it begins the next one, which does not send again what this one has.
func (s *selective) partly(now unit.Time) {
	switch {
	case s.recovering():
		s.loseBelow(now, s.acked+1, entropy.NACK)
	case s.acked < s.bound:
		s.target = s.r.queue.Packet()
	}
}

// loseBelow has the packets from bound to upTo-1 sent again, unless they are placed. Their paths
// get the feedback.
func (s *selective) loseBelow(now unit.Time, upTo int64, f entropy.Feedback) {
	for n := s.placed.missing(max(s.bound, s.acked)); n < upTo; n = s.placed.missing(n + 1) {
		s.lose(n)
		s.r.spread.missing(now, n, f)
	}
	s.bound = max(s.bound, upTo)
}

// lost ignores a NAK for any packet but the oldest in flight, which is out of date. The first NAK
// begins the recovery; the later ones report placed packets, so that those below are lost.
func (s *selective) lost(now unit.Time, number int64, _ *fabric.Out) {
	if number != s.acked || number == s.r.queue.Packet() {
		return
	}
	if !s.recovering() {
		s.recover(now, entropy.NACK)
	}
	s.loseBelow(now, s.placed.end, entropy.NACK)
}

// recover begins a recovery that sends the oldest packet again.
func (s *selective) recover(now unit.Time, f entropy.Feedback) {
	s.target, s.bound = s.r.queue.Packet(), s.acked
	s.loseBelow(now, max(s.acked+1, s.placed.end), f)
	s.restart(now)
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
	s.recover(now, entropy.Timeout)
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
