package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/unit"
)

// spraying is selective repeat for packets that take several paths: a packet that is missing
// below one that has arrived may still be under way. A packet is lost if
//
//   - a NAK reports that it arrived trimmed,
//   - it is not acknowledged within the timeout, which doubles with every timeout in a row,
//   - or, under cc.LossSLEEK, the receiver holds so many packets out of order that those below
//     are more likely lost than late.
//
// A lost packet leaves the packets in flight, so that the window has room to send it again. It is
// sent before new ones.
type spraying struct {
	selection
	flights  flights
	timeout  unit.Time // of a packet
	expired  int       // timeouts in a row
	widened  unit.Time // when the latest of these began
	received uint32    // latest counter of the receiver, see frame.Receipt
	sleek    sleek
}

// newSpraying returns the recovery of a flow with that path.
func newSpraying(r *Requester, path cc.Path) *spraying {
	s := &spraying{selection: selection{r: r, window: int64(r.CC.MRC.Window)}, timeout: r.CC.RTO(path)}
	s.sleek.most = r.CC.SleekMost(path)
	return s
}

// next returns the packet to send next; one that is sent again is in flight again.
func (s *spraying) next() *packet {
	p := s.selection.next()
	if p != nil {
		p.flight = p.part.Bytes
	}
	return p
}

func (s *spraying) sent(now unit.Time, _ unit.Bytes, out *fabric.Out) {
	n, again := s.packet.number, s.packet.again
	due := now + s.timeout<<min(s.expired, maxBackoff)
	s.took(now, out)
	if again {
		s.flights.again(n, now, due)
	} else {
		s.flights.begin(n, s.acked, now, due)
	}
	if due < s.r.deadline {
		s.r.expire(due)
	}
}

// acknowledged leaves the timer of an older packet running: when it fires, it finds what is due.
func (s *spraying) acknowledged(now unit.Time, upTo int64, out *fabric.Out) unit.Bytes {
	if upTo <= s.acked || upTo > s.r.queue.Packet() {
		return 0
	}
	bytes := s.arrived(now, upTo, out)
	if s.acked == s.r.queue.Packet() {
		s.r.expire(unit.Never)
	}
	return bytes
}

// lost is not called: a receiver of sprayed packets sends no NAK of a gap.
func (s *spraying) lost(unit.Time, int64, *fabric.Out) {}

// trimmed handles that packet n arrived trimmed. It returns the payload that is in flight no
// more, 0 if the packet is not in flight.
func (s *spraying) trimmed(n int64) unit.Bytes {
	if n < s.acked || n >= s.r.queue.Packet() || !s.flying(n) {
		return 0
	}
	s.lose(n)
	return s.payload(n)
}

// overdue has all packets sent again whose timeout has ended. The timeout of packets sent from now on
// doubles, unless all of these were sent before it doubled last: they are of the same loss. If the
// retries are used up, the flow fails.
func (s *spraying) overdue(now unit.Time, out *fabric.Out) {
	var bytes unit.Bytes
	next, latest := unit.Never, unit.Time(-1)
	for n := s.acked; n < s.r.queue.Packet(); n++ {
		switch k := s.flights.of(n); {
		case !s.flying(n):
		case k.due > now:
			next = min(next, k.due)
		default:
			s.lose(n)
			bytes, latest = bytes+s.payload(n), max(latest, k.sent)
			s.r.spread.missing(now, n, entropy.Timeout)
		}
	}
	s.r.expire(unit.Never)
	s.r.expire(next)
	if bytes == 0 {
		return
	}
	s.r.timedOut(now, out)
	if limit := s.r.CC.MRC.Retries; limit > 0 && s.expired >= limit {
		s.r.consumer.fail(now, out)
		return
	}
	if s.expired == 0 || latest >= s.widened {
		s.expired, s.widened = s.expired+1, now
	}
	s.r.loses(now, cc.TimedOut, bytes, out)
}

// newly returns the payload that the receiver has counted since its latest report.
func (s *spraying) newly(received uint32) unit.Bytes {
	ahead := int32(received-s.received) << 8 >> 8 // 24 bits
	if ahead <= 0 {
		return 0 // an older report
	}
	s.received = received
	return unit.Bytes(ahead) * frame.ReceivedUnit
}

// elapsed returns the time since the latest transmission of packet n, 0 if it is not between the
// oldest and the newest sent.
func (s *spraying) elapsed(now unit.Time, n int64) unit.Time {
	if n < s.acked || n >= s.r.queue.Packet() {
		return 0
	}
	return now - s.flights.of(n).sent
}

// samples reports whether the answer to packet n is a valid sample of the round-trip time: it
// answers the only transmission, or the second of two (UE specification §3.6.13.1).
func (s *spraying) samples(n int64, resent bool) bool {
	if n < s.acked || n >= s.r.queue.Packet() {
		return false
	}
	sends := s.flights.of(n).sends
	return sends == 1 && !resent || sends == 2 && resent
}

// asks reports whether a packet requests an ACK: the last of a message, one that is sent again (uec.cpp,
// sendRtxPacket), the last that the window or the credit has room for, and every one while the window is
// less than what the receiver acknowledges together (UE specification §3.6.13, AckRequest; of credit,
// uec.cpp 2074).
func (s *spraying) asks(p *packet) bool {
	window := s.r.live.window
	return p.part.Last || p.again || window-s.r.inFlight-p.flight < s.r.Payload || window < s.r.CC.MRC.AckBytes ||
		!s.r.credit.Outlasts(p.part.Bytes+uetHeaders+s.r.Overhead)
}

// loses signals that payload was found lost, unless that is 0.
func (r *Requester) loses(now unit.Time, kind cc.SignalKind, payload unit.Bytes, out *fabric.Out) {
	if payload == 0 {
		return
	}
	r.Fly(-payload)
	r.Signal(now, cc.Signal{Kind: kind, Bytes: payload, InFlight: max(r.inFlight, 0)}, out)
}
