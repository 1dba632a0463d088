package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/unit"
)

// spread spreads a requester's packets over paths: each has an entropy of its own. Entropy v is
// the UDP source port base XOR v, so that the ports of a flow differ in their low bits, and
// entropy 0 is the port of its other packets. Its methods do nothing for a nil spread, that of a
// requester whose packets all have one port.
type spread struct {
	entropy.Counts // of a requester that is done
	walk           entropy.Walk
	base           uint16
	size           int // number of entropies
	// sent holds the entropies of the latest packets by number, modulo its length, a power of two
	// up to mostRecorded. It grows with the number of packets in flight. Its packets are those
	// below next.
	sent []entropy.Value
	next int64
}

const (
	firstSent    = 16      // initial length of spread.sent
	mostRecorded = 1 << 16 // maximum length, the packets in flight with selective repeat
)

// newSpread returns the spread of the flow with that index, nil if all of its packets have one
// entropy. The device keeps its counters when the flow is done.
func (d *Device) newSpread(flow *fabric.Flow, index int) *spread {
	if !d.Spreads() {
		return nil
	}
	seed := uint64(flow.ID)<<16 ^ uint64(flow.Source)
	s := &spread{
		walk: entropy.New(d.Entropy, d.Entropies, seed), base: flow.Source, size: d.Entropies,
		sent: make([]entropy.Value, firstSent),
	}
	for len(d.spreads) <= index {
		d.spreads = append(d.spreads, nil)
	}
	d.spreads[index] = s
	return s
}

// port chooses the UDP source port of the packet with that number. oldest is the number of the
// oldest packet in flight, window the window in packets.
func (s *spread) port(number, oldest int64, window int) uint16 {
	v := s.walk.Next(window)
	s.record(number, oldest, v)
	return s.base ^ uint16(v)
}

// record records the entropy of a packet.
func (s *spread) record(number, oldest int64, v entropy.Value) {
	for number-oldest >= int64(len(s.sent)) && len(s.sent) < mostRecorded {
		s.grow()
	}
	s.sent[number&int64(len(s.sent)-1)] = v
	s.next = max(s.next, number+1)
}

func (s *spread) grow() {
	longer := make([]entropy.Value, 2*len(s.sent))
	for n := max(0, s.next-int64(len(s.sent))); n < s.next; n++ {
		longer[n&int64(len(longer)-1)] = s.sent[n&int64(len(s.sent)-1)]
	}
	s.sent = longer
}

// missing takes that the packet with that number did not arrive, as an answer to a later one shows
// (entropy.NACK), or because it was not acknowledged in time (entropy.Timeout).
func (s *spread) missing(now unit.Time, number int64, f entropy.Feedback) {
	if s == nil || number >= s.next || number < s.next-int64(len(s.sent)) {
		return
	}
	s.walk.Feedback(now, s.sent[number&int64(len(s.sent)-1)], f)
}

// echoed takes what the answer to a packet shows about the path of that packet, whose UDP source
// port the answer repeats.
func (s *spread) echoed(now unit.Time, port uint16, about entropy.Feedback) {
	if s == nil {
		return
	}
	if v := port ^ s.base; int(v) < s.size {
		s.walk.Feedback(now, entropy.Value(v), about)
	}
}

// echoedPort returns the UDP source port of the packet that f answers.
func echoedPort(f *frame.Frame) uint16 {
	if f.Mirrored() {
		return f.DstPort()
	}
	return f.SrcPort()
}

// aboutPath returns the feedback about the path of a packet that arrived, by its CE mark.
func aboutPath(marked bool) entropy.Feedback {
	if marked {
		return entropy.ECN
	}
	return entropy.Good
}

// end releases what the requester does not need once it is done.
func (s *spread) end() {
	if s != nil {
		*s = spread{Counts: s.chosen()}
	}
}

// chosen returns the counts of the walk so far.
func (s *spread) chosen() entropy.Counts {
	if s.walk == nil {
		return s.Counts
	}
	return s.walk.Counts()
}
