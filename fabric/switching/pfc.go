package switching

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Priority flow control (IEEE 802.1Q clause 36, formerly 802.1Qbb), both ends.
//
// The egress side obeys its peer (pauses), per class of a port:
//
//	          PAUSE, quanta > 0
//	  +------+ -------------------> +--------+ --+ PAUSE, quanta > 0:
//	  | SEND |                      | PAUSED |   | expiry := now + quanta
//	  +------+ <------------------- +--------+ <-+
//	           quanta 0, or expiry
//
// The ingress side pauses its peer (xoff), per class of a port:
//
//	            occupancy congested: PAUSE
//	  +-----+ ----------------------------> +------+ --+ half of the quanta
//	  | XON |                               | XOFF |   | since the last PAUSE:
//	  +-----+ <---------------------------- +------+ <-+ PAUSE again
//	            occupancy relieved: quanta 0
//
// PAUSE is refreshed until the account is relieved, also between the two
// thresholds. Otherwise it would expire there and XON would have no effect.

// quantumBytes is one pause quantum, 512 bit times, in bytes on the wire.
const quantumBytes unit.Bytes = 512 / 8

// pauseTime returns the duration of quanta at the port's rate.
func (p *port) pauseTime(quanta uint16) unit.Time {
	return p.Rate.Serialise(unit.Bytes(quanta) * quantumBytes)
}

// pauses is the set of egress classes of a port that the peer pauses.
//
// Invariant: next is the earliest expiry of the classes in set, or Never.
type pauses struct {
	set    classSet
	next   unit.Time
	expiry [fabric.Priorities]unit.Time
	since  [fabric.Priorities]unit.Time
}

func newPauses() pauses { return pauses{next: unit.Never} }

// xoff is the set of classes for which a port pauses its peer.
//
// Invariant: next is the earliest refresh, or Never; signalled changes only when a
// PFC frame is sent.
type xoff struct {
	set       classSet // the classes in XOFF
	signalled classSet // the classes in XOFF according to the last PFC frame sent
	pending   classSet // the classes that the next PFC frame must carry
	next      unit.Time
	refresh   [fabric.Priorities]unit.Time
}

func newXOFF() xoff {
	x := xoff{next: unit.Never}
	for c := range x.refresh {
		x.refresh[c] = unit.Never
	}
	return x
}

// each calls do for each class of the set, lowest first.
func (c classSet) each(do func(fabric.Priority)) {
	for ; c != 0; c &= c - 1 {
		do(fabric.Priority(bits.TrailingZeros8(uint8(c))))
	}
}

// earliest returns the earliest instant in at of the classes in the set.
func (c classSet) earliest(at *[fabric.Priorities]unit.Time) unit.Time {
	first := unit.Never
	for ; c != 0; c &= c - 1 {
		first = min(first, at[bits.TrailingZeros8(uint8(c))])
	}
	return first
}

// obey handles a PFC frame from the peer of p. Lossy classes take no part in flow
// control, so their fields in the frame are ignored.
func (s *Switch) obey(now unit.Time, p *port, f *frame.Frame, out *fabric.Out) {
	var pfc frame.PFC
	if pfc.Parse(f) != nil {
		s.discard(now, p.id, f, out)
		return
	}
	classSet(pfc.Enable).each(func(class fabric.Priority) {
		switch quanta := pfc.Quanta[class]; {
		case !s.cfg.Classes[class].Lossless:
		case quanta == 0:
			p.stats[class].ResumesReceived++
			s.endPause(now, p, class, out)
		default:
			p.stats[class].PausesReceived++
			fabric.First(&p.stats[class].PauseReceived, now)
			p.hold(now, class, quanta, out)
		}
	})
	p.pauses.next = p.pauses.set.earliest(&p.pauses.expiry)
	s.kick(now, p, out)
}

// hold pauses a class or prolongs its pause. The frame in transmission completes.
// The caller updates pauses.next.
func (p *port) hold(now unit.Time, class fabric.Priority, quanta uint16, out *fabric.Out) {
	p.pauses.expiry[class] = now + p.pauseTime(quanta)
	if p.pauses.set&(1<<class) != 0 {
		return
	}
	p.pauses.set |= 1 << class
	p.pauses.since[class] = now
	p.drr.leave(class)
	note(now, p.id, class, fabric.NewPaused(quanta), out)
}

// endPause resumes a class. The caller updates pauses.next.
func (s *Switch) endPause(now unit.Time, p *port, class fabric.Priority, out *fabric.Out) {
	if p.pauses.set&(1<<class) == 0 {
		return
	}
	lasted := now - p.pauses.since[class]
	p.pauses.set &^= 1 << class
	p.npecn[class].resume(p.queues[class].count)
	p.stats[class].PausedFor += lasted
	note(now, p.id, class, fabric.NewResumed(lasted), out)
}

// endPauses resumes the classes whose pause has expired.
func (s *Switch) endPauses(now unit.Time, p *port, out *fabric.Out) {
	if p.pauses.next > now {
		return
	}
	p.pauses.set.each(func(class fabric.Priority) {
		if p.pauses.expiry[class] <= now {
			s.endPause(now, p, class, out)
		}
	})
	p.pauses.next = p.pauses.set.earliest(&p.pauses.expiry)
}

// checkXOFF pauses the peer of p if the account of the class is congested.
func (s *Switch) checkXOFF(now unit.Time, p *port, class fabric.Priority, out *fabric.Out) {
	if !s.cfg.Classes[class].Lossless || p.xoff.set&(1<<class) != 0 || !s.buffer.congested(p.id, class) {
		return
	}
	p.xoff.set |= 1 << class
	p.xoff.pending |= 1 << class
	s.kick(now, p, out)
}

// checkXON resumes the peer of p if the account of the class is relieved.
func (s *Switch) checkXON(now unit.Time, p *port, class fabric.Priority, out *fabric.Out) {
	if p.xoff.set&(1<<class) == 0 || !s.buffer.relieved(p.id, class) {
		return
	}
	p.xoff.clear(class)
	s.kick(now, p, out)
}

// clear takes a class out of XOFF and stops its refresh. A RESUME becomes pending
// only if the peer was sent the PAUSE.
func (x *xoff) clear(class fabric.Priority) {
	x.schedule(class, unit.Never)
	x.set &^= 1 << class
	x.pending &^= 1 << class
	x.pending |= x.signalled & (1 << class)
}

// schedule sets the instant of the next refresh of a class.
func (x *xoff) schedule(class fabric.Priority, at unit.Time) {
	x.refresh[class] = at
	x.next = x.set.earliest(&x.refresh)
}

// refresh repeats the PAUSE of the classes that are due. It ends the pause instead if
// the account was relieved meanwhile by buffer released at other ports.
func (s *Switch) refresh(now unit.Time, p *port) {
	if p.xoff.next > now {
		return
	}
	p.xoff.set.each(func(class fabric.Priority) {
		if p.xoff.refresh[class] > now {
			return
		}
		if s.buffer.relieved(p.id, class) {
			p.xoff.clear(class)
			return
		}
		p.xoff.pending |= 1 << class
		p.xoff.schedule(class, unit.Never)
	})
}

// sendPFC sends one PFC frame with all pending classes.
func (s *Switch) sendPFC(now unit.Time, p *port, out *fabric.Out) {
	pfc := frame.PFC{Source: s.cfg.MAC, Enable: uint8(p.xoff.pending)}
	pending := p.xoff.pending
	p.xoff.pending = 0
	p.xoff.signalled = p.xoff.set
	pending.each(func(class fabric.Priority) {
		occupancy := s.buffer.occupancy(p.id, class)
		if p.xoff.set&(1<<class) != 0 {
			quanta := s.cfg.Classes[class].Quanta
			pfc.Quanta[class] = quanta
			note(now, p.id, class, fabric.NewPauseSent(quanta, occupancy), out)
			p.xoff.schedule(class, now+p.pauseTime(quanta)/2)
			p.stats[class].PausesSent++
			fabric.First(&p.stats[class].PauseSent, now)
		} else {
			note(now, p.id, class, fabric.NewResumeSent(occupancy), out)
			p.stats[class].ResumesSent++
		}
	})
	f := out.Send(p.id)
	f.Trace = 0
	pfc.Build(f)
	f.Arrival = p.occupy(now, f.Len())
}
