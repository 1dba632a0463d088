package tracing

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Shares divides the time of a message, from post to completion, by where the frame
// that completed it, and the frame that this one answers, spent that time.
type Shares struct {
	Waited unit.Time // at the initiator until the frame left, not paused: pacing, window, credit, earlier frames
	Paused unit.Time // at a paused port
	Queued unit.Time // in switches, not paused
	Wire   unit.Time // serialisation and propagation
	Target unit.Time // at the target until the answer left
	Intake unit.Time // at the initiator, from the arrival of the answer to the completion
}

// Sum returns the sum of the shares, which is the time of the message.
func (s *Shares) Sum() unit.Time {
	return s.Waited + s.Paused + s.Queued + s.Wire + s.Target + s.Intake
}

// Divide divides the critical path of a message, given all of its spans. The errors are
// those of Critical.
func Divide(spans []Span) (Shares, error) {
	legs, err := Critical(spans)
	var s Shares
	for _, l := range legs {
		took := l.End - l.Start
		switch l.Part {
		case Wire:
			s.Wire += took
		case Sender:
			s.Waited += took - l.Paused
		case Switch:
			s.Queued += took - l.Paused
		case Intake:
			s.Intake += took
		default:
			s.Target += took - l.Paused
		}
		s.Paused += l.Paused
	}
	return s, err
}

// paused returns how long a port was paused between two instants, according to the
// events of a span.
func paused(events []Event, from, to unit.Time) (sum unit.Time) {
	since := unit.Never // start of a pause that has not ended
	for _, e := range events {
		switch e.Kind {
		case fabric.Paused:
			since = e.At
		case fabric.Resumed:
			sum += max(min(e.At, to)-max(e.At-e.Duration(), from), 0)
			since = unit.Never
		default:
		}
	}
	if since != unit.Never {
		sum += max(to-max(since, from), 0)
	}
	return sum
}
