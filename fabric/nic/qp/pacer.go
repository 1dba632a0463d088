package qp

import "github.com/rackfab/rackfab/fabric/unit"

// pacer spaces the frames of one flow at its rate. Each frame delays the next one by
// exactly its length over the rate. A flow delayed by the link or by PAUSE may catch up
// by one frame at most. The pacer is the virtual scheduling form of the generic cell rate
// algorithm (ITU-T I.371) with one frame of tolerance, which is equivalent to a token
// bucket.
//
// With gap it is the pacer of the HPCC simulator (rdma-hw.cc). The tolerance is 0: the next frame is
// due a whole frame time after the start of this one (UpdateNextAvail). A change of rate leaves that
// instant as it is, as all schemes of the simulator do but HPCC and PINT, which move it to a frame
// time at the new rate after the start of the latest frame (ChangeRate).
//
// The frames of a burst are sent back to back. The frame after the burst waits for the
// frame times of the whole burst.
//
// Invariant: the next frame is due at due + frac/rate ps, 0 <= frac < rate, unless
// a burst is open.
type pacer struct {
	rate unit.Rate
	due  unit.Time
	frac uint64
	open bool // the next frame belongs to the burst of the latest one
	gap  bool // a delayed flow does not catch up

	moves  bool       // with gap: a change of rate moves the next frame
	latest unit.Bytes // the latest frame, with its overhead
}

// next returns the first whole picosecond at which the flow may send, 0 within a burst.
func (p *pacer) next() unit.Time {
	if p.open {
		return 0
	}
	return p.paid()
}

// paid returns the first whole picosecond after the frame times of all sent frames.
func (p *pacer) paid() unit.Time {
	if p.frac != 0 {
		return p.due + 1
	}
	return p.due
}

// sent accounts for a frame of n bytes, at most 2 MB, whose transmission starts at now.
// now must not be before next. The frame ends its burst, unless extend follows.
func (p *pacer) sent(now unit.Time, n unit.Bytes) {
	if p.gap && !p.open && p.paid() < now {
		p.due, p.frac = now, 0
	}
	p.open, p.latest = false, n
	rate := uint64(p.rate)
	span := uint64(n) * 8 * uint64(unit.Second)
	p.due += unit.Time(span / rate)
	if p.frac += span % rate; p.frac >= rate {
		p.frac -= rate
		p.due++
	}
	if p.due < now {
		p.due, p.frac = now, 0
	}
}

// extend makes the next frame part of the burst of the latest one.
func (p *pacer) extend() { p.open = true }

// setRate changes the rate; rate must be above 0. The debt for the last frame or burst
// stays the same in bits; see pacer for gap.
func (p *pacer) setRate(now unit.Time, rate unit.Rate) {
	at := p.paid()
	switch {
	case p.gap && p.moves:
		at += rate.Serialise(p.latest) - p.rate.Serialise(p.latest)
	case p.gap:
	case at > now:
		owed := uint64(at-now) * uint64(p.rate)
		at = now + unit.Time((owed+uint64(rate)-1)/uint64(rate))
	}
	p.rate, p.due, p.frac = rate, at, 0
}
