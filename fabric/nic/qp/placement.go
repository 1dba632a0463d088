package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// MaxWindow is the maximum number of packets that a responder places beyond the expected one,
// and that a requester with selective repeat has in flight.
const MaxWindow = 1 << 16

// placement accepts packets in any order, and places each at the address that it carries: each
// is a WRITE of one packet. The requests complete in the order of their PSNs. As in IRN (Mittal et
// al., SIGCOMM 2018), every packet that arrives out of order is answered by a NAK with the
// expected PSN and a SACK; or, if the sender sprays, receipts decide. Payload is delivered in order,
// or, if the sender sprays, when it is placed: there the delivery is unordered.
type placement struct {
	placed bitmap // packets placed beyond the expected one, which is the start of its window
	// lengths holds the payload of the placed packets that await their delivery: a circle by packet
	// number, as long as placed.
	lengths []uint16
	newest  int64 // the packet that is being answered
	count   int   // packets placed beyond the expected one
	// receipts makes the responder acknowledge the packets of a sender that sprays; nil for IRN.
	receipts *receipts
}

// place places the packet f, which is ahead of the expected one by the given number, above 0,
// unless it arrived before, is no WRITE of one packet, or is too far ahead.
func (p *placement) place(now unit.Time, r *Responder, ahead int32, f *frame.Frame, out *fabric.Out) {
	n := p.placed.first + int64(ahead)
	bytes, ok := r.takeAlone(f)
	switch {
	case !ok || ahead >= MaxWindow:
		r.Discard(now, f, out)
		return
	case p.placed.has(n):
		r.DuplicateRequest++
		if p.receipts != nil {
			r.conclude(now, f, duplicate, out)
			return
		}
	default:
		r.outOfSequence(now, r.psnOf(f), f, out)
		p.placed.add(n)
		p.count++
		r.arrived(now, f, r.psnOf(f), out)
		if p.receipts == nil {
			p.keep(n, bytes)
		} else {
			r.deliver(now, f, bytes, out)
		}
		if r.Size == work.Posted {
			r.keepTag(n, f)
		}
		if p.receipts != nil {
			p.receipts.add(bytes)
			r.conclude(now, f, fresh, out)
			return
		}
	}
	p.newest = n
	r.requestExpected(now, f, out)
}

// keep keeps the payload of packet n, which has been placed, until it is delivered in order.
func (p *placement) keep(n int64, payload unit.Bytes) {
	if size := 64 * len(p.placed.words); size > len(p.lengths) {
		old := p.lengths
		p.lengths = make([]uint16, size)
		for m := p.placed.first; len(old) > 0 && m < p.placed.end; m++ {
			p.lengths[m&int64(size-1)] = old[m&int64(len(old)-1)]
		}
	}
	p.lengths[n&int64(len(p.lengths)-1)] = uint16(payload)
}

// advance returns how far the expected PSN moves when the next packets, of the given number,
// are accepted: past them, and past those placed early that follow, of which it returns the payload
// that has not been delivered.
func (p *placement) advance(packets int32) (moved int32, payload unit.Bytes) {
	from := p.placed.first
	to := p.placed.missing(from + int64(packets))
	for n := from + int64(packets); n < to && p.receipts == nil; n++ {
		payload += unit.Bytes(p.lengths[n&int64(len(p.lengths)-1)])
	}
	p.placed.drop(to)
	p.newest = to
	p.count -= int(to-from) - int(packets)
	return int32(to - from), payload
}

// urgent reports whether packets are missing, so that the packet accepted just now must be
// acknowledged at once.
func (p *placement) urgent() bool { return !p.placed.empty() }

// report returns the SACK of an ACK or NAK that is sent now; its bitmap is 0 if there is none. It reports packets while others are missing: the latest 64 up to the one that is answered, or
// the 64 after the expected one if that was answered.
func (p *placement) report() frame.SACK {
	if p.placed.empty() {
		return frame.SACK{}
	}
	base := max(p.placed.first+1, p.newest-63)
	return frame.SACK{Base: PSN(base), Bitmap: p.placed.window(base)}
}
