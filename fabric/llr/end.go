package llr

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Receive handles a frame that arrives with the given fate. It reports whether the frame is the
// port's concern: it is the next in order, or belongs to no retry and may be lost or damaged.
// It clears the number of the frame. The transmitter may be due afterwards.
func (e *End) Receive(now unit.Time, f *frame.Frame, fate fabric.Fate, out *fabric.Out) bool {
	number := f.Sequence
	f.Sequence = 0
	if number == 0 {
		if fate != fabric.Whole || f.Class() != frame.ClassRetry {
			return true
		}
		e.control(now, f, out)
		return false
	}
	switch fate {
	case fabric.Lost, fabric.Damaged:
		out.Note(fabric.Note{
			Event: fabric.NewErred(f.Len(), fate.Reason()), At: now, Port: e.port, Flow: flowOf(f), Trace: f.Trace,
		})
		if fate == fabric.Damaged {
			e.receiver.damaged(now, number)
		}
		return false
	case fabric.CutOff:
		return false // the sender has it, and drops it when the link is up again
	default:
		return e.receiver.take(now, number)
	}
}

// control handles a control frame.
func (e *End) control(now unit.Time, f *frame.Frame, out *fabric.Out) {
	var c frame.Retry
	if c.Parse(f) != nil {
		return // only Build writes them
	}
	s := &e.sender
	switch c.Kind {
	case frame.RetryACK:
		s.stats.ACKs++
		s.release(now, c.Number, out)
	case frame.RetryNACK:
		s.stats.NACKs++
		if s.release(now, c.Number, out) && s.flushing == 0 {
			s.again(now)
		}
	case frame.RetryInit:
		e.receiver.init(now, c.Number)
	case frame.RetryInitEcho:
		if s.flushing != 0 && c.Number == after(s.first, s.held.Len()) {
			s.echoed(now, e.port, c.Good, out)
		}
	}
}

// Blocked reports whether the port must not transmit a new frame other than PFC.
func (e *End) Blocked() bool { return e.sender.full(e.link.MTU) }

// Due returns the earliest instant from which Transmit uses the transmitter, or a timer fires;
// it may be past.
func (e *End) Due() unit.Time { return min(e.receiver.due(), e.sender.due()) }

// Sent numbers a frame of the given length that the port transmits from now on, other than
// PFC, and keeps a copy. All changes to the frame must be made before.
func (e *End) Sent(now unit.Time, f *frame.Frame, length unit.Bytes, out *fabric.Out) {
	e.sender.hold(now+e.link.serialise(length), f, length, out.Pool)
}

// Transmit sends a control frame or a replay that is due at now. It returns how long the link is
// occupied, 0 if nothing was sent. The transmitter must be idle and the link up.
func (e *End) Transmit(now unit.Time, out *fabric.Out) unit.Time {
	s := &e.sender
	if s.timer <= now && s.flushing == 0 {
		s.stats.Timeouts++
		s.again(now)
	}
	if c, ok := e.receiver.answer(now); ok {
		return e.send(now, &c, out)
	}
	if s.flushing != 0 && s.timer <= now {
		s.timer = now + s.settings.Timeout
		return e.send(now, &frame.Retry{Kind: frame.RetryInit, Number: after(s.first, s.held.Len())}, out)
	}
	if s.flushing != 0 || s.replay == s.held.Len() {
		return 0
	}
	return e.replay(now, out)
}

// send sends a control frame.
func (e *End) send(now unit.Time, c *frame.Retry, out *fabric.Out) unit.Time {
	f := out.Send(e.port)
	c.Source = e.address
	c.Build(f)
	f.Trace = 0
	f.Arrival = now + e.link.serialise(frame.MinLen) + e.link.Delay
	e.sender.stats.Control++
	return e.link.Rate.Serialise(controlBytes)
}

// replay sends the next frame of a replay.
func (e *End) replay(now unit.Time, out *fabric.Out) unit.Time {
	s := &e.sender
	h := s.held.At(s.replay)
	if s.replay == 0 {
		out.Note(fabric.Note{
			Event: fabric.NewReplayed(s.bytes, int64(s.held.Len())), At: now, Port: e.port, Flow: flowOf(h.frame), Trace: h.frame.Trace,
		})
	}
	f := out.Send(e.port)
	*f = *h.frame
	f.Sequence = frame.Numbered | after(s.first, s.replay)
	busy := e.link.serialise(h.length)
	f.Arrival = now + busy + e.link.Delay
	s.stats.ReplayedFrames++
	s.stats.ReplayedBytes += h.length
	s.stats.ReplayTime += busy
	if s.replay++; s.replay == s.held.Len() {
		s.restart(now + busy)
	}
	return busy
}

// Restore is called when the link comes up after it was down: the frames in flight are gone.
func (e *End) Restore(now unit.Time) { e.sender.flush(now, fabric.DropLinkDown) }
