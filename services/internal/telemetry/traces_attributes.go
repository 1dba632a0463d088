package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
)

// attributes returns the attributes of a span. Attributes that do not apply are left
// out.
func attributes(s *tracing.Span) attributeList {
	list := make(attributeList, 0, 20)
	add := func(a ...attribute.KeyValue) { list = append(list, a...) }
	nonzero := func(key string, v int64) {
		if v != 0 {
			add(number(key, v))
		}
	}
	add(attribute.String("rackfab.node", s.Node), attribute.String("rackfab.flow", s.Flow), number("rackfab.message", tracing.NumberOf(s.Message)),
		number("rackfab.start_ps", s.Start), number("rackfab.end_ps", s.End))
	if s.In != unit.Never {
		add(number("rackfab.in_ps", s.In))
	}
	if s.Part == tracing.Root {
		add(number("rackfab.bytes", s.Bytes))
		nonzero("rackfab.packets", s.Packets)
		if s.By != 0 && s.By != s.Message {
			add(attribute.String("rackfab.completed_by", fmt.Sprintf("%016x", s.By)))
		}
	} else {
		add(attribute.String("rackfab.direction", s.Direction()), attribute.String("rackfab.carries", s.Role.String()))
		nonzero("rackfab.bytes", int64(s.Bytes))
	}
	nonzero("rackfab.frames", s.Frames)
	if s.From >= 0 {
		add(number("rackfab.port.in", s.From))
	}
	if s.To >= 0 {
		add(number("rackfab.port.out", s.To))
	}
	switch s.Part {
	case tracing.Wire:
		add(attribute.String("rackfab.peer", s.Peer), number("rackfab.serialisation_ps", s.End-s.Start-s.Delay), number("rackfab.propagation_ps", s.Delay))
	case tracing.Switch:
		add(number("rackfab.queue_bytes.max", s.QueueMax), number("rackfab.queued_ps", s.Queued))
	case tracing.Target:
		add(number("rackfab.queued_ps", s.Queued))
	default:
	}
	nonzero("rackfab.paused_ps", int64(s.Paused))
	nonzero("rackfab.marks", s.Marks)
	nonzero("rackfab.events.missing", int64(s.Missing))
	if s.Open {
		add(attribute.Bool("rackfab.open", true))
	}
	if s.Cut {
		add(attribute.Bool("rackfab.cut", true))
	}
	return list
}
