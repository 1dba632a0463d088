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
// expected PSN and a SACK; or, if the sender sprays, receipts decide.
type placement struct {
	placed bitmap // packets placed beyond the expected one, which is the start of its window
	newest int64  // the packet that is being answered
	count  int    // packets placed beyond the expected one
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
		r.deliver(now, f, r.psnOf(f), bytes, out)
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

// advance returns how far the expected PSN moves when the next packets, of the given number,
// are accepted: past them, and past those placed early that follow.
func (p *placement) advance(packets int32) int32 {
	from := p.placed.first
	p.placed.drop(p.placed.missing(from + int64(packets)))
	p.newest = p.placed.first
	p.count -= int(p.placed.first-from) - int(packets)
	return int32(p.placed.first - from)
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
