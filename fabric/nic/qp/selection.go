package qp

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// selection is the packets in flight of a requester that sends lost packets again one by one. Its
// owner decides which are lost.
//
//	0 ........ acked ........................ cursor ........ packets
//	  done           placed, lost or in flight       not yet sent
//
// Invariant: acked <= cursor of the send queue; no packet is both placed and lost.
type selection struct {
	r      *Requester
	window int64 // the maximum number of packets from the oldest to the newest in flight
	acked  int64 // the packets below it have arrived
	placed bitmap
	losses bitmap     // the packets to send again
	owed   unit.Bytes // their payload
	part   work.Part  // of the next packet, if it is sent again
	packet packet     // latest result of next; its request is nil if that is not valid
}

// maxBackoff is the maximum number of doublings of the timeout.
const maxBackoff = 6

func (s *selection) next() *packet {
	if s.packet.request != nil {
		return &s.packet
	}
	q, p := &s.r.queue, &s.packet
	if n := s.losses.member(s.acked); n < s.losses.end {
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

// took counts the next packet as sent.
func (s *selection) took(now unit.Time, out *fabric.Out) {
	if p := &s.packet; p.again {
		s.losses.remove(p.number)
		s.owed -= p.part.Bytes
		s.r.retransmitted(now, p.number, 1, p.request, out)
	} else {
		s.r.queue.Advance()
	}
	s.packet.request = nil
}

func (s *selection) oldest() int64 { return s.acked }

// arrived handles that the packets below upTo, which is above acked, have arrived. It returns the
// payload of those that were not placed before.
func (s *selection) arrived(now unit.Time, upTo int64, out *fabric.Out) unit.Bytes {
	before := s.payloadPlaced(upTo)
	for n := s.losses.member(s.acked); n < min(upTo, s.losses.end); n = s.losses.member(n + 1) {
		s.owed -= s.payload(n)
	}
	from := s.acked
	s.acked, s.packet.request = upTo, nil
	s.placed.drop(upTo)
	s.losses.drop(upTo)
	after := s.r.complete(now, from, upTo, out)
	return after - before
}

// payloadPlaced returns the payload of the placed packets below upTo.
func (s *selection) payloadPlaced(upTo int64) (payload unit.Bytes) {
	for n := s.acked; n < min(upTo, s.placed.end); n++ {
		if s.placed.has(n) {
			payload += s.payload(n)
		}
	}
	return payload
}

// payload returns the payload of a packet in flight.
func (s *selection) payload(n int64) unit.Bytes {
	part, _ := s.r.queue.PartAt(n)
	return part.Bytes
}

// selected records the packets in flight that a SACK reports as placed.
func (s *selection) selected(base int64, set uint64) (payload unit.Bytes) {
	for set != 0 {
		i := bits.LeadingZeros64(set)
		set &^= 1 << (63 - i)
		if n := base + int64(i); s.acked <= n && n < s.r.queue.Packet() && !s.placed.has(n) {
			bytes := s.payload(n)
			payload += bytes
			s.placed.add(n)
			if s.losses.has(n) {
				s.losses.remove(n)
				s.owed -= bytes
			}
		}
	}
	s.packet.request = nil
	return payload
}

// lose has a packet sent again.
func (s *selection) lose(n int64) {
	if !s.losses.has(n) {
		s.losses.add(n)
		s.owed += s.payload(n)
	}
	s.packet.request = nil
}

// hasLost reports whether packets are to be sent again.
func (s *selection) hasLost() bool { return s.losses.member(s.acked) < s.losses.end }

// flying reports whether a packet from acked to the cursor is in flight: neither placed nor lost.
func (s *selection) flying(n int64) bool { return !s.placed.has(n) && !s.losses.has(n) }

// answered discards the packet: these requests have no response.
func (s *selection) answered(now unit.Time, f *frame.Frame, out *fabric.Out) {
	s.r.Discard(now, f, out)
}
