package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The reaction point of a sender: its signals, and their effects on the sender.

// SetReaction replaces the reaction point. The sender must not be done.
func (s *Sender) SetReaction(a cc.Algorithm) { s.live.cc, s.live.window = a, a.Window() }

// Signal passes a signal to the reaction point and applies the result. The sender must not
// be done.
func (s *Sender) Signal(now unit.Time, signal cc.Signal, out *fabric.Out) {
	s.live.cc.Handle(now, signal)
	s.follow(now, out)
}

// React ticks the reaction point and applies the result.
func (s *Sender) React(now unit.Time, out *fabric.Out) {
	s.live.cc.Tick(now)
	s.follow(now, out)
}

// follow sets the pacer and the timer from the reaction point. The owner then offers its
// next packet, because the window may have room for it now.
func (s *Sender) follow(now unit.Time, out *fabric.Out) {
	s.live.window = s.live.cc.Window()
	at, ok := s.live.cc.Next()
	if !ok {
		at = unit.Never
	}
	if at != s.Timers.At(React, s.place()) {
		s.Timers.Set(React, s.place(), at)
	}
	if rate, was := s.live.cc.Rate(), s.pacer.rate; rate != was {
		s.pacer.setRate(now, rate)
		s.Arbiter.Repace(s.place(), s.pacer.next())
		out.Note(fabric.Note{Event: fabric.NewRateChanged(rate, was), At: now, Flow: s.ID, Priority: s.Class})
	}
	s.owner.Offer()
}

// Notified handles a CNP. In PCN, CE in the ECN field of the CNP's IP header signals
// congestion (PCN §5.2). In DCQCN every CNP signals congestion. With CETH, the congestion
// information of an enhanced CNP does; one without information is as in DCQCN.
func (s *Sender) Notified(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if !s.started || s.done || s.live.moved && !s.accepts(f) {
		s.RPCNPIgnored++
		return
	}
	s.RPCNPHandled++
	if s.live.mode == cc.NotifyCETH {
		s.notifiedByCETH(now, f, out)
		return
	}
	congested := f.ECN() == frame.CE || s.live.mode == cc.NotifyDCQCN
	out.Note(fabric.Note{
		Event: fabric.NewCNP(fabric.NotificationIn, congested, f.RecRate()), At: now, Flow: s.ID, Priority: s.ControlClass(),
	})
	s.Signal(now, cc.Signal{
		Kind: cc.CNP, Marked: congested, RecRate: unit.Rate(f.RecRate()) * unit.MegabitPerSec,
	}, out)
}

// accepts reports whether a CNP belongs to the sender's present scheme. A CNP of the
// previous scheme may still be in flight. RecRate is above 0 in PCN, and 0 in DCQCN.
func (s *Sender) accepts(f *frame.Frame) bool {
	switch s.live.mode {
	case cc.NotifyPCN:
		return f.RecRate() > 0
	case cc.NotifyDCQCN:
		return f.RecRate() == 0
	default:
		return false
	}
}

// SampledBySwitch handles a congestion notification message of a switch (IEEE 802.1Qau).
func (s *Sender) SampledBySwitch(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if !s.started || s.done {
		s.CNMIgnored++
		return
	}
	s.CNMHandled++
	out.Note(fabric.Note{Event: fabric.NewCNMIn(f.Feedback()), At: now, Flow: s.ID, Priority: s.ControlClass(), Trace: f.Trace})
	s.Signal(now, cc.Signal{Kind: cc.CNM, Feedback: f.Feedback()}, out)
}

// SwitchScheme switches the sender to its chosen scheme if that has changed. The new
// reaction point starts at the present rate.
func (s *Sender) SwitchScheme(now unit.Time, out *fabric.Out) {
	name := s.schemeOf(&s.Flow)
	if name == s.scheme || s.done {
		return
	}
	present := s.live.cc.Rate()
	if !s.started {
		present = s.Initial
	}
	a, err := cc.TakeOver(now, name, s.CC, s.pathTo(s.To), s.Initial, present)
	if err != nil {
		return // unreachable: choose has validated the scheme
	}
	s.SetReaction(a)
	s.scheme, s.live.moved = name, true
	s.setMode()
	s.live.burst = s.burstOf(name)
	s.live.left, s.pacer.open = s.live.burst, false
	s.measureBy(name)
	s.follow(now, out)
}
