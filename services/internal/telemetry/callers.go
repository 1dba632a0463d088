package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
)

// Caller is the span of a client that requested a change, with the messages that the
// change starts.
type Caller struct {
	Messages []fabric.Message
	span     trace.SpanContext
}

// traceparentKey is the header that carries the span of a call (W3C trace context, level
// 1).
const traceparentKey = "traceparent"

// MostCallers is the number of the latest changes of a live run whose callers are known. The
// messages of older ones are sampled by the ratio, if they have not ended.
const MostCallers = 256

// CallerOf returns the caller of a change of s. It reports false if traceparent holds no
// sampled span, or if the change starts no message.
func CallerOf(s *topology.Scenario, c *topology.Change, traceparent string) (Caller, bool) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparentKey: traceparent})
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() || !span.IsSampled() {
		return Caller{}, false
	}
	out := Caller{tracing.OfChange(s, c), span}
	return out, len(out.Messages) > 0
}

// callersOf returns links to the spans that requested a message.
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
