package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Link-layer retry at a port: it comes after PFC frames and before the scheduler.

// settle updates retryAt and blocked after a call of retry.
func (p *port) settle() {
	p.retryAt, p.blocked = p.retry.Due(), 0
	if p.retry.Blocked() {
		p.blocked--
	}
}

// retransmit starts what link-layer retry sends and reports whether there was anything.
func (p *port) retransmit(now unit.Time, out *fabric.Out) bool {
	busy := p.retry.Transmit(now, out)
	p.settle()
	if busy > 0 {
		p.freeAt = now + busy
	}
	return busy > 0
}

// dueAside is due for a port that is cut or has retry. due is the result without these.
func (p *port) dueAside(due unit.Time) unit.Time {
	if p.cut {
		return unit.Never
	}
	return min(due, max(p.retryAt, p.freeAt))
}

// precedes reports whether the port is cut, or retry starts a transmission now. PFC frames
// precede retry.
func (p *port) precedes(now unit.Time, out *fabric.Out) bool {
	return p.cut || p.xoff.pending == 0 && p.retry != nil && p.retransmit(now, out)
}

// setCut records whether the switch has detected that the link is down.
func (p *port) setCut(cut bool) {
	p.cut, p.aside = cut, cut || p.retry != nil
}

// restore begins link-layer retry anew when the link has come up.
func (p *port) restore(now unit.Time) {
	if p.retry != nil {
		p.retry.Restore(now)
		p.settle()
	}
}

// retried passes an arriving frame through link-layer retry and reports whether the switch
// handles it.
func (s *Switch) retried(now unit.Time, p *port, f *frame.Frame, fate fabric.Fate, out *fabric.Out) bool {
	if f.Sequence != 0 && (fate == fabric.Lost || fate == fabric.Damaged) {
		p.cable.Count(fate)
	}
	ours := p.retry.Receive(now, f, fate, out)
	p.settle()
	s.kick(now, p, out)
	return ours
}
