package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
)

// Caller is the span in which somebody asked for a change, and the messages that the
// change began.
type Caller struct {
	Messages []fabric.Message
	span     trace.SpanContext
}

// traceparentKey is the one header that says which span a call is made in (W3C trace
// context, level 1).
const traceparentKey = "traceparent"

// CallerOf gives the caller of a change of s. It is false if there is none whose
// trace is sampled, or the change begins no message.
func CallerOf(s *topology.Scenario, c *topology.Change, traceparent string) (Caller, bool) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparentKey: traceparent})
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() || !span.IsSampled() {
		return Caller{}, false
	}
	out := Caller{tracing.OfChange(s, c), span}
	return out, len(out.Messages) > 0
}

// callersOf gives links to the spans in which a message was asked for.
func callersOf(callers []Caller, message uint64) (links []trace.Link) {
	for _, c := range callers {
		for _, m := range c.Messages {
			if m.First <= message && message < m.End {
				links = append(links, trace.Link{SpanContext: c.span})
			}
		}
	}
	return links
}
