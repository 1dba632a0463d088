package rx

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// quantum is one pause quantum, 512 bit times (IEEE 802.1Q clause 36), as bytes on the
// wire.
const quantum unit.Bytes = 512 / 8

// duration returns the time of a number of quanta on a link.
func duration(rate unit.Rate, quanta uint16) unit.Time {
	return rate.Serialise(unit.Bytes(quanta) * quantum)
}

// Pauses is the set of classes paused by the link partner. A pause ends when it expires,
// or by XON (quanta 0). A further PAUSE moves the expiry.
//
// Invariant: next is the earliest expiry of the paused classes, Never without any.
type Pauses struct {
	rate    unit.Rate // of the link
	paused  uint8     // bit per class
	next    unit.Time
	classes [fabric.Priorities]pauseClass
}

// pauseClass is the latest pause of a class.
type pauseClass struct {
	since, until unit.Time
	stats        PauseStats
}

// PauseStats counts the pauses of one traffic class.
type PauseStats struct {
	RxPause           uint64    // PAUSE frames received for the class
	RxResume          uint64    // RESUME frames received for the class: XON, quanta 0
	RxPauseTransition uint64    // transitions of the class from not paused to paused
	RxPauseDuration   unit.Time // total duration of the pauses that have ended
	PauseReceived     unit.Time // the first PAUSE, 0 if there was none
}

// NewPauses returns the state of a port at the rate, with no class paused.
func NewPauses(rate unit.Rate) Pauses { return Pauses{rate: rate, next: unit.Never} }

// Has reports whether a class is paused.
func (p *Pauses) Has(class fabric.Priority) bool { return p.paused>>class&1 != 0 }

// Set returns the paused classes, a bit per class.
func (p *Pauses) Set() uint8 { return p.paused }

// Next returns the earliest expiry of a pause, Never if no class is paused.
func (p *Pauses) Next() unit.Time { return p.next }

// Stats returns the counters of a class.
func (p *Pauses) Stats(class fabric.Priority) PauseStats { return p.classes[class].stats }

// Receive applies a PFC frame.
func (p *Pauses) Receive(now unit.Time, f *frame.PFC, out *fabric.Out) {
	for class := range fabric.Priority(fabric.Priorities) {
		if f.Enable>>class&1 == 0 {
			continue
		}
		stats := &p.classes[class].stats
		if f.Quanta[class] == 0 {
			stats.RxResume++
			p.resume(now, class, out)
		} else {
			stats.RxPause++
			fabric.First(&stats.PauseReceived, now)
			p.pause(now, class, f.Quanta[class], out)
		}
	}
	p.renew()
}

// Expire ends the pauses that have expired.
func (p *Pauses) Expire(now unit.Time, out *fabric.Out) {
	for class := range fabric.Priority(fabric.Priorities) {
		if p.classes[class].until <= now {
			p.resume(now, class, out)
		}
	}
	p.renew()
}

// Clear ends all pauses.
func (p *Pauses) Clear(now unit.Time, out *fabric.Out) {
	for class := range fabric.Priority(fabric.Priorities) {
		p.resume(now, class, out)
	}
	p.renew()
}

// pause pauses a class, or moves the expiry of its pause.
func (p *Pauses) pause(now unit.Time, class fabric.Priority, quanta uint16, out *fabric.Out) {
	c := &p.classes[class]
	c.until = now + duration(p.rate, quanta)
	if p.Has(class) {
		return
	}
	p.paused |= 1 << class
	c.since = now
	c.stats.RxPauseTransition++
	out.Note(fabric.Note{Event: fabric.NewPaused(quanta), At: now, Flow: fabric.NoFlow, Priority: class})
}

// resume ends the pause of a class, if it is paused.
func (p *Pauses) resume(now unit.Time, class fabric.Priority, out *fabric.Out) {
	if !p.Has(class) {
		return
	}
	c := &p.classes[class]
	p.paused &^= 1 << class
	lasted := now - c.since
	c.stats.RxPauseDuration += lasted
	out.Note(fabric.Note{Event: fabric.NewResumed(lasted), At: now, Flow: fabric.NoFlow, Priority: class})
}

// renew recomputes next.
func (p *Pauses) renew() {
	p.next = unit.Never
	for class := range p.classes {
		if p.Has(fabric.Priority(class)) {
			p.next = min(p.next, p.classes[class].until)
		}
	}
}
