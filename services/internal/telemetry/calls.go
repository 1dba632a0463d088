package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
)

// callsFlush is how long the end of a process may wait for the spans of its calls to be
// exported.
const callsFlush = time.Second

// Calls traces the gRPC calls of one process in wall-clock time. Only calls within a
// sampled trace of their caller produce spans, so that watching a rack does not fill the
// collector. Without a collector, Calls only propagates the trace context. Health checks
// are never traced.
type Calls struct {
	provider trace.TracerProvider
	spans    *Spans
}

// NewCalls returns a Calls that exports to a collector on conn, which the caller owns;
// nil means no collector. service (such as rackfab-controller) and name identify the
// process.
func NewCalls(conn *grpc.ClientConn, service, name string) *Calls {
	if conn == nil {
		return &Calls{provider: noop.NewTracerProvider()}
	}
	c := &Calls{spans: NewSpans(conn, spanLimit)}
	c.provider = sdk.NewTracerProvider(
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", service), attribute.String("service.instance.id", name), attribute.String("rackfab.node", name))),
		sdk.WithSampler(sdk.ParentBased(internal{})),
		sdk.WithSpanProcessor(c.spans),
	)
	return c
}

// internal samples the spans without a parent that are not gRPC calls.
type internal struct{}

// ShouldSample samples internal spans.
func (internal) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if p.Kind == trace.SpanKindInternal {
		return sdk.AlwaysSample().ShouldSample(p)
	}
	return sdk.NeverSample().ShouldSample(p)
}

// Description names the sampler.
func (internal) Description() string { return "InternalSpans" }

// Recovered exports a span "recovery" from began to now: a run of a scenario has recovered
// from a loss.
func (c *Calls) Recovered(scenario, loss string, began time.Time) {
	_, span := c.provider.Tracer(scope).Start(context.Background(), "recovery", trace.WithTimestamp(began), trace.WithAttributes(
		attribute.String("rackfab.scenario", scenario), attribute.String("rackfab.loss", loss)))
	span.End()
}

// Close exports the remaining spans. It waits one second at most.
func (c *Calls) Close() {
	if c.spans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callsFlush)
	defer cancel()
	c.spans.Finish(ctx)
}

func (c *Calls) options() []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(c.provider), otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
	}
}

// Server returns the stats handler of the process's gRPC servers.
func (c *Calls) Server() stats.Handler { return otelgrpc.NewServerHandler(c.options()...) }

// Client returns the stats handler of the process's gRPC clients.
func (c *Calls) Client() stats.Handler { return otelgrpc.NewClientHandler(c.options()...) }

// Changed adds a change of s that a traced call requested to the caller's trace: a span
// "burst NAME" with links to the roots of the messages that the change starts, the first
// 128 of them. It returns the traceparent that the messages link back to, or "" if the
// call is not traced.
func (c *Calls) Changed(ctx context.Context, s *topology.Scenario, change *topology.Change) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	messages := tracing.OfChange(s, change)
	if len(messages) == 0 {
		return ""
	}
	name := change.Burst.Name
	if change.Verb == topology.ChangePost {
		name = change.Post.Name
	}
	var links []trace.Link
	for _, m := range messages {
		next := uint64(1)
		if change.Verb == topology.ChangeBurst {
			next = tracing.PerFlow // a flow of a burst is one message, unless it is endless
		}
		for message := m.First; message < m.End && len(links) < maxLinks; message += next {
			id := tracing.TraceID(s.Seed, message)
			links = append(links, trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: id, SpanID: tracing.RootID(id), TraceFlags: trace.FlagsSampled, Remote: true,
			})})
		}
	}
	ctx, span := c.provider.Tracer(scope).Start(ctx, string(change.Verb)+" "+name, trace.WithLinks(links...), trace.WithAttributes(
		attribute.Int64("rackfab.at_ps", int64(change.At)), attribute.String("rackfab.scenario", s.Name)))
	span.End()
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceparentKey]
}
