package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion information at the sender under CETH: it arrives in ACKs, NAKs, READ requests
// and enhanced CNPs, and goes to the reaction point.

// Indicated passes the indication of an ACK, NAK or READ request to the reaction point.
// The sender must not be done.
func (s *Sender) Indicated(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if !s.started {
		return
	}
	congested, path := f.BECN(), notify.ReadACK(f, &s.CC.CETH)
	s.indicate(now, notify.Indication{Congested: congested, Degree: path.Degree}, s.ClassOf(f), out)
	s.noteCongestion(now, f, path, out)
	s.Signal(now, cc.Signal{Kind: cc.Indication, Marked: congested, Path: path}, out)
}

// notifiedByCETH handles an enhanced CNP. A CNP without information is handled as a plain
// CNP.
func (s *Sender) notifiedByCETH(now unit.Time, f *frame.Frame, out *fabric.Out) {
	path := notify.ReadCNP(f)
	signal := cc.Signal{Kind: cc.CNP}
	got := notify.Indication{Congested: true}
	if path.Known != 0 {
		got = notify.Indication{Congested: path.Degree != cc.DegreeNone, Degree: path.Degree}
		signal = cc.Signal{Kind: cc.Indication, Marked: got.Congested, Path: path}
	}
	s.noteCongestion(now, f, path, out)
	s.indicate(now, got, s.ControlClass(), out)
	s.Signal(now, signal, out)
}

// indicate notes an indication that differs from the one before.
func (s *Sender) indicate(now unit.Time, got notify.Indication, class fabric.Priority, out *fabric.Out) {
	if got != s.live.indicated {
		s.live.indicated = got
		out.Note(fabric.Note{Event: got.Event(fabric.IndicationIn), At: now, Flow: s.ID, Priority: class})
	}
}

// noteCongestion notes the congestion information that a frame carries to a sender.
func (s *Sender) noteCongestion(now unit.Time, f *frame.Frame, path cc.Congestion, out *fabric.Out) {
	if path.Known == 0 || !out.Wants(f.Trace) {
		return
	}
	a, b := path.Words()
	out.Note(fabric.Note{Event: fabric.EventOf(fabric.CongestionIn, a, b), At: now, Flow: s.ID, Priority: s.ClassOf(f), Trace: f.Trace})
}
