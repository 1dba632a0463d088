package tracing

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Leg is one segment of a message's critical path.
type Leg struct {
	Part       Part
	Name, Node string
	Start, End unit.Time
	// Paused is how long the port was paused during the leg, according to the span's
	// events. A span keeps at most MaxEvents of them.
	Paused unit.Time
}

// Errors of Critical for messages without a critical path of their own.
var (
	ErrOpen       = errors.New("the message is not complete")
	ErrElsewhere  = errors.New("a frame of another message completed the message")
	ErrUnanswered = errors.New("the message is a datagram, complete when its last byte was on the wire")
)

// Critical returns the critical path of a message from all of its spans: the path of
// the frame whose answer completed the message, and the path of that answer. Each leg
// starts where the previous one ends. The first starts at the post, and the last ends
// at the completion.
func Critical(spans []Span) ([]Leg, error) {
	at := slices.IndexFunc(spans, func(s Span) bool { return s.Part == Root })
	if at < 0 {
		return nil, errors.New("no root span")
	}
	root := &spans[at]
	switch {
	case root.Open || root.Cut || root.Failure != "":
		return nil, ErrOpen
	case root.By == 0 && root.In == unit.Never:
		return nil, ErrUnanswered
	case root.By != root.Message:
		return nil, ErrElsewhere
	}
	var legs []Leg
	if root.In < root.End {
		legs = append(legs, Leg{Part: Intake, Name: "intake", Node: root.Node, Start: root.In, End: root.End})
	}
	node, now := root.Node, root.In
	for range spans {
		wire := find(spans, func(s *Span) bool { return s.Part == Wire && s.Peer == node && s.End == now })
		if wire == nil {
			return nil, fmt.Errorf("no wire span ends at %s at %s", node, now)
		}
		residence := find(spans, func(s *Span) bool {
			return (s.Part == Switch || s.Part == Target || s.Part == Sender) && s.In != unit.Never &&
				s.Node == wire.Node && s.End == wire.Start && s.To == wire.To && s.Back == wire.Back
		})
		if residence == nil {
			return nil, fmt.Errorf("no span at %s ends at %s", wire.Node, wire.Start)
		}
		pauses := residence.Events
		if residence.Part == Sender {
			pauses = root.Events
		}
		legs = append(legs, Leg{Part: Wire, Name: "wire", Node: wire.Node + "->" + wire.Peer, Start: wire.Start, End: wire.End},
			Leg{Part: residence.Part, Name: residence.Name, Node: residence.Node, Start: residence.In, End: residence.End, Paused: paused(pauses, residence.In, residence.End)})
		if residence.Part == Sender {
			slices.Reverse(legs)
			return legs, nil
		}
		node, now = residence.Node, residence.In
	}
	return nil, errors.New("the path of the frame has no start")
}

func find(spans []Span, fits func(*Span) bool) *Span {
	for i := range spans {
		if fits(&spans[i]) {
			return &spans[i]
		}
	}
	return nil
}

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
