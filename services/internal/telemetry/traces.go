package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Limits of a span; the SDK drops what exceeds them. A tracing.Tracer respects the limit
// of events and counts those it omits (rackfab.events.missing). The other limits are
// never reached.
const (
	maxAttributes = 64
	maxLinks      = 128
)

// Traces converts the notes of one node in one run to spans of the SDK, for the sampled
// messages. Only Cut is safe for concurrent use.
type Traces struct {
	*tracing.Tracer
	sdk     trace.Tracer
	ids     *derived
	id      Identity
	cut     atomic.Int64
	callers []Caller
}

// NewTraces returns the traces of the scenario's node with index node, for the messages
// that follow selects. Finished spans go to out.
func NewTraces(out *Spans, id Identity, s *topology.Scenario, node int, follow *fabric.Selection) *Traces {
	t := &Traces{id: id, ids: &derived{}}
	provider := sdk.NewTracerProvider(
		sdk.WithResource(resource.NewSchemaless(id.attributes()...)),
		sdk.WithSampler(sdk.AlwaysSample()), // messages that are not sampled produce no spans
		sdk.WithIDGenerator(t.ids),
		sdk.WithRawSpanLimits(sdk.SpanLimits{
			AttributeValueLengthLimit: -1, AttributeCountLimit: maxAttributes, EventCountLimit: tracing.MaxEvents,
			LinkCountLimit: maxLinks, AttributePerEventCountLimit: maxAttributes, AttributePerLinkCountLimit: maxAttributes,
		}),
		sdk.WithSpanProcessor(out),
	)
	t.sdk = provider.Tracer(scope)
	t.Tracer = tracing.New(s, node, follow, t.span)
	return t
}

// Extend replaces the scenario by one with more flows, the selection of messages, and
// the callers of changes so far.
func (t *Traces) Extend(s *topology.Scenario, follow *fabric.Selection, callers []Caller) {
	t.Tracer.Extend(s, follow)
	t.callers = callers
}

// Cut returns the number of spans that were ended early.
func (t *Traces) Cut() int64 { return t.cut.Load() }

// derived is an ID generator that returns preset IDs, one pair at a time.
type derived struct {
	trace trace.TraceID
	span  trace.SpanID
}

// NewIDs returns the IDs of a root span.
func (d *derived) NewIDs(context.Context) (trace.TraceID, trace.SpanID) { return d.trace, d.span }

// NewSpanID returns the ID of a child span.
func (d *derived) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return d.span }

// span converts a span of the fabric to one of the SDK.
func (t *Traces) span(s *tracing.Span) {
	if s.Cut {
		t.cut.Add(1)
	}
	t.ids.trace = tracing.TraceID(t.id.Seed, s.Message)
	t.ids.span = tracing.SpanID(t.ids.trace, s)
	ctx := context.Background()
	options := []trace.SpanStartOption{trace.WithTimestamp(t.time(s.Start)), trace.WithSpanKind(kindOf(s.Part)), trace.WithAttributes(attributes(s)...)}
	if s.Part == tracing.Root {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(callersOf(t.callers, s.Message)...))
	} else {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: t.ids.trace, SpanID: tracing.RootID(t.ids.trace), TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	_, span := t.sdk.Start(ctx, s.Name, options...)
	for _, e := range s.Events {
		name, about := event(&e)
		span.AddEvent(name, trace.WithTimestamp(t.time(e.At)), trace.WithAttributes(about...))
	}
	if s.Failure != "" {
		span.SetStatus(codes.Error, s.Failure)
	}
	span.SetAttributes(attribute.Int64("rackfab.wall_unix_nano", time.Now().UnixNano()))
	span.End(trace.WithTimestamp(t.time(s.End)))
}

// time converts an instant to wall-clock time, rounded down to ns.
func (t *Traces) time(at unit.Time) time.Time {
	return time.Unix(0, t.id.Epoch+int64(at/unit.Nanosecond))
}

// kindOf returns the kind of a span: the initiator is the client, the target the server.
func kindOf(p tracing.Part) trace.SpanKind {
	switch p {
	case tracing.Root:
		return trace.SpanKindClient
	case tracing.Target:
		return trace.SpanKindServer
	default:
		return trace.SpanKindInternal
	}
}
