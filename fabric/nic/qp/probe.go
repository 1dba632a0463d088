package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/unit"
)

// RTT probes (RTTX [0028]). While a sender has data in flight it sends a probe every
// Settings.Probe, in the class of its data and with the same addresses and ports, so that
// the probe takes the same path. The receiver answers each at once:
//
//	sender                                   receiver
//	  RTT probe, T_s: start of TX    ----->    T_r := now
//	  RTT := now - T_s or T_r - T_s  <-----    RTT response, T_s and T_r
//
// Neither packet is retransmitted, and the sender keeps no state about probes in flight: a
// lost one is a missing sample.

// ProbeDue handles the timer of the probes: it queues a probe, unless the previous one still
// waits. It stops the timer if no data is in flight.
func (s *Sender) ProbeDue(now unit.Time, out *fabric.Out) {
	if s.done || !s.live.prober.on || s.inFlight == 0 {
		s.Probes.Set(s.place(), unit.Never)
		return
	}
	p := &s.live.prober
	p.due = now + s.Probe
	s.Probes.Set(s.place(), p.due)
	if p.waiting {
		return
	}
	p.waiting = true
	s.Control.Put(now, &control.Packet{Kind: control.Probe, From: s, PSN: PSN(p.number), DSCP: s.DSCP, In: now}, out)
	p.number++
}

// BuildControl writes a probe into f. It is Not-ECT: it belongs to no message, and no
// notification point counts it.
func (s *Sender) BuildControl(now unit.Time, c *control.Packet, f *frame.Frame) {
	if !s.done {
		s.live.prober.waiting = false
	}
	p := s.PacketTo(s.To, s.Source)
	p.DSCP, p.ECN = c.DSCP, frame.NotECT
	p.BTH.Opcode, p.BTH.PSN, p.BTH.DestQP = frame.RTTProbe, c.PSN, frame.ReceiverQP(uint32(s.ID))
	p.Timestamped, p.Timestamps = true, frame.Timestamps{Sent: s.Stamp(now)}
	p.Build(f)
	f.Trace = 0
}

// AnswerProbe answers a probe at once, in the control class.
func (r *Receiver) AnswerProbe(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if !f.Timestamped() {
		r.Discard(now, f, out)
		return
	}
	r.RxProbes++
	c := r.answer(now, control.Response, f)
	c.PSN = f.PSN()
	r.Control.Put(now, &c, out)
}

// Probed passes the RTT of a probe to the reaction point.
func (s *Sender) Probed(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if !f.Timestamped() {
		s.Discard(now, f, out)
		return
	}
	s.RxProbeResponses++
	if s.done || !s.live.prober.on {
		return
	}
	s.Signal(now, cc.Signal{Kind: cc.Probe, RTT: s.RTTOf(now, f, out), InFlight: s.inFlight}, out)
}
