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

// Limits of a span, of which the SDK drops what is beyond. A tracing.Tracer keeps
// to the events' and counts what it leaves out (rackfab.events.missing); the others
// are never reached.
const (
	maxAttributes = 64
	maxLinks      = 128
)

// Traces tells what became of messages at one node in one run: the node's notes
// become spans of the SDK. One goroutine uses it, but for Cut.
type Traces struct {
	tracer   *tracing.Tracer
	provider *sdk.TracerProvider
	sdk      trace.Tracer
	ids      *derived
	id       Identity
	cut      atomic.Int64
	callers  []Caller
}

// NewTraces makes the traces of the scenario's node with that index, of the messages
// that follow picks. Finished spans go to out.
func NewTraces(out *Spans, id Identity, s *topology.Scenario, node int, follow *fabric.Selection) *Traces {
	t := &Traces{id: id, ids: &derived{}}
	t.provider = sdk.NewTracerProvider(
		sdk.WithResource(resource.NewSchemaless(id.attributes()...)),
		sdk.WithSampler(sdk.AlwaysSample()), // what is not followed makes no span
		sdk.WithIDGenerator(t.ids),
		sdk.WithRawSpanLimits(sdk.SpanLimits{
			AttributeValueLengthLimit: -1, AttributeCountLimit: maxAttributes, EventCountLimit: tracing.MaxEvents,
			LinkCountLimit: maxLinks, AttributePerEventCountLimit: maxAttributes, AttributePerLinkCountLimit: maxAttributes,
		}),
		sdk.WithSpanProcessor(out),
	)
	t.sdk = t.provider.Tracer(scope)
	t.tracer = tracing.New(s, node, follow, t.span)
	return t
}

// Observe takes notes in the order in which they happened.
func (t *Traces) Observe(notes []fabric.Note) { t.tracer.Observe(notes) }

// Extend takes over a scenario that has more flows, what is followed of them, and
// who has asked for changes so far.
func (t *Traces) Extend(s *topology.Scenario, follow *fabric.Selection, callers []Caller) {
	t.tracer.Extend(s, follow)
	t.callers = callers
}

// Reach says that every event before now has been handled.
func (t *Traces) Reach(now unit.Time) { t.tracer.Advance(now) }

// Finish ends what is open at the end of the run.
func (t *Traces) Finish(end unit.Time) { t.tracer.Finish(end) }

// Cut counts the spans that were ended before their time.
func (t *Traces) Cut() int64 { return t.cut.Load() }

// derived gives the ids that are set, one pair at a time.
type derived struct {
	trace trace.TraceID
	span  trace.SpanID
}

// NewIDs gives the ids of a root.
func (d *derived) NewIDs(context.Context) (trace.TraceID, trace.SpanID) { return d.trace, d.span }

// NewSpanID gives the id of a child.
func (d *derived) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return d.span }

// span makes a span of the SDK of one of the fabric.
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

// time puts an instant on the wall clock, rounded down to ns.
func (t *Traces) time(at unit.Time) time.Time {
	return time.Unix(0, t.id.Epoch+int64(at/unit.Nanosecond))
}

// kindOf says who speaks: the initiator to the target.
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
