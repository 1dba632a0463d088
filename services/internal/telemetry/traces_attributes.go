package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
)

// attributes returns the identity as resource attributes of spans, as resource does for
// points.
func (i *Identity) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("service.name", "rackfab-"+string(i.Kind)), attribute.String("service.instance.id", i.Node),
		attribute.String("rackfab.run", i.Run), attribute.String("rackfab.scenario", i.Scenario), attribute.String("rackfab.scheme", i.Scheme),
		attribute.Int64("rackfab.seed", int64(i.Seed)), attribute.String("rackfab.node", i.Node),
		attribute.Int64("rackfab.epoch_unix_nano", i.Epoch), attribute.String("rackfab.sampled", i.Sampled),
	}
}

// attributes returns the attributes of a span. Attributes that do not apply are left
// out.
func attributes(s *tracing.Span) []attribute.KeyValue {
	list := make([]attribute.KeyValue, 0, 20)
	number := func(key string, v int64) { list = append(list, attribute.Int64(key, v)) }
	nonzero := func(key string, v int64) {
		if v != 0 {
			number(key, v)
		}
	}
	list = append(list, attribute.String("rackfab.node", s.Node), attribute.String("rackfab.flow", s.Flow))
	number("rackfab.message", int64(tracing.NumberOf(s.Message)))
	number("rackfab.start_ps", int64(s.Start))
	number("rackfab.end_ps", int64(s.End))
	if s.In != unit.Never {
		number("rackfab.in_ps", int64(s.In))
	}
	if s.Part == tracing.Root {
		number("rackfab.bytes", int64(s.Bytes))
		nonzero("rackfab.packets", s.Packets)
		if s.By != 0 && s.By != s.Message {
			list = append(list, attribute.String("rackfab.completed_by", fmt.Sprintf("%016x", s.By)))
		}
	} else {
		list = append(list, attribute.String("rackfab.direction", s.Direction()), attribute.String("rackfab.carries", s.Role.String()))
		nonzero("rackfab.bytes", int64(s.Bytes))
	}
	nonzero("rackfab.frames", s.Frames)
	if s.From >= 0 {
		number("rackfab.port.in", int64(s.From))
	}
	if s.To >= 0 {
		number("rackfab.port.out", int64(s.To))
	}
	switch s.Part {
	case tracing.Wire:
		list = append(list, attribute.String("rackfab.peer", s.Peer))
		number("rackfab.serialisation_ps", int64(s.End-s.Start-s.Delay))
		number("rackfab.propagation_ps", int64(s.Delay))
	case tracing.Switch:
		number("rackfab.queue_bytes.max", int64(s.QueueMax))
		number("rackfab.queued_ps", int64(s.Queued))
	case tracing.Target:
		number("rackfab.queued_ps", int64(s.Queued))
	default:
	}
	nonzero("rackfab.paused_ps", int64(s.Paused))
	nonzero("rackfab.marks", s.Marks)
	nonzero("rackfab.events.missing", int64(s.Missing))
	if s.Open {
		list = append(list, attribute.Bool("rackfab.open", true))
	}
	if s.Cut {
		list = append(list, attribute.Bool("rackfab.cut", true))
	}
	return list
}

// event returns the name and the attributes of an event.
func event(e *tracing.Event) (name string, about []attribute.KeyValue) {
	number := func(key string, v int64) { about = append(about, attribute.Int64(key, v)) }
	number("rackfab.at_ps", int64(e.At))
	if e.Times > 1 {
		number("rackfab.times", e.Times)
		number("rackfab.last_ps", int64(e.Last))
	}
	if name, mechanism := mechanisms[e.Kind]; mechanism {
		return name, append(about, mechanismAttributes(e)...)
	}
	switch e.Kind {
	case fabric.Marked:
		number("rackfab.queue_bytes", int64(e.Queue()))
		number("rackfab.psn", int64(e.PSN()))
		return "mark", about
	case fabric.Paused:
		return "pause", about
	case fabric.Resumed:
		number("rackfab.paused_ps", int64(e.Duration()))
		return "resume", about
	case fabric.RateChanged:
		number("rackfab.rate.new", int64(e.Rate()))
		number("rackfab.rate.old", int64(e.OldRate()))
		return "rate", about
	case fabric.Retransmitted:
		number("rackfab.psn", int64(e.PSN()))
		number("rackfab.frames", e.Packets())
		return "retransmit", about
	case fabric.TimedOut:
		number("rackfab.psn", int64(e.PSN()))
		return "timeout", about
	case fabric.Dropped:
		number("rackfab.bytes", int64(e.Bytes()))
		about = append(about, attribute.String("rackfab.reason", e.Reason().String()))
		return "drop", about
	default:
		a, b := e.Encoded()
		number("rackfab.a", a)
		number("rackfab.b", b)
		return e.Kind.String(), about
	}
}
