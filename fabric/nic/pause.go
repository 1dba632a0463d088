package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// quantumBytes is one pause quantum, 512 bit times (IEEE 802.1Q clause 36), as
// bytes on the wire.
const quantumBytes unit.Bytes = 512 / 8

// pause is the set of classes paused by the link partner. A pause ends when it expires,
// or by XON (quanta 0). A further PAUSE moves the expiry.
//
// Invariant: next is the earliest expiry of the paused classes, Never without any.
type pause struct {
	paused uint8 // bit per class
	next   unit.Time
	until  [fabric.Priorities]unit.Time
	since  [fabric.Priorities]unit.Time
}

func (p *pause) has(class fabric.Priority) bool { return p.paused>>class&1 != 0 }

// renewPause recomputes the next expiry, and updates the paused classes of the shaper.
func (n *NIC) renewPause(now unit.Time) {
	n.pause.renew()
	if n.engine != nil {
		n.engine.shaper.Pause(now, n.pause.paused)
	}
}

// renew recomputes next.
func (p *pause) renew() {
	p.next = unit.Never
	for class, until := range p.until {
		if p.paused>>class&1 != 0 {
			p.next = min(p.next, until)
		}
	}
}

// receivePFC handles a PFC frame.
func (n *NIC) receivePFC(now unit.Time, f *frame.Frame, out *fabric.Out) {
	var pfc frame.PFC
	if pfc.Parse(f) != nil {
		n.malformed(now, f, out)
		return
	}
	for class := range fabric.Priority(fabric.Priorities) {
		if pfc.Enable>>class&1 == 0 {
			continue
		}
		n.stats.Priorities[class].RxPause++
		if pfc.Quanta[class] == 0 {
			n.resume(now, class, out)
		} else {
			fabric.First(&n.stats.Priorities[class].PauseReceived, now)
			n.pauseClass(now, class, pfc.Quanta[class], out)
		}
	}
	n.renewPause(now)
}

// pauseClass pauses a class, or moves the expiry of its pause.
func (n *NIC) pauseClass(now unit.Time, class fabric.Priority, quanta uint16, out *fabric.Out) {
	p := &n.pause
	p.until[class] = now + n.cfg.Rate.Serialise(unit.Bytes(quanta)*quantumBytes)
	if p.has(class) {
		return
	}
	p.paused |= 1 << class
	p.since[class] = now
	n.stats.Priorities[class].RxPauseTransition++
	out.Note(fabric.Note{Event: fabric.NewPaused(quanta), At: now, Flow: fabric.NoFlow, Priority: class})
}

// resume ends the pause of a class, if it is paused.
func (n *NIC) resume(now unit.Time, class fabric.Priority, out *fabric.Out) {
	p := &n.pause
	if !p.has(class) {
		return
	}
	p.paused &^= 1 << class
	lasted := now - p.since[class]
	n.stats.Priorities[class].RxPauseDuration += lasted
	out.Note(fabric.Note{Event: fabric.NewResumed(lasted), At: now, Flow: fabric.NoFlow, Priority: class})
}

// expire ends the pauses that have expired.
func (n *NIC) expire(now unit.Time, out *fabric.Out) {
	if now < n.pause.next {
		return
	}
	for class := range fabric.Priority(fabric.Priorities) {
		if n.pause.until[class] <= now {
			n.resume(now, class, out)
		}
	}
	n.renewPause(now)
}
