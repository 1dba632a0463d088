package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Limits of Spans.
const (
	// DefaultSpans is the default queue limit in spans, of about 1 KiB each.
	DefaultSpans = 8192
	spanLimit    = 512     // in one request
	requestBytes = 1 << 20 // in one request, about: servers of gRPC take 4 MiB by default
)

// Spans exports spans to a collector by OTLP, from its own goroutine. Its queue is
// bounded: OnEnd never blocks, and spans that do not fit are dropped and counted, which
// the SDK's own batch processor does not do.
type Spans struct{ *exporter[trace.ReadOnlySpan] }

// NewSpans returns an exporter on conn, which the caller owns, with a queue of limit
// spans. Finish ends it.
func NewSpans(conn grpc.ClientConnInterface, limit int) *Spans {
	client := &traceClient{client: collector.NewTraceServiceClient(conn)}
	sdk := otlptrace.NewUnstarted(client)
	return &Spans{newExporter(limit, request[trace.ReadOnlySpan]{
		maxCount: spanLimit, maxBytes: requestBytes, size: sizeOf,
		send: func(ctx context.Context, batch []trace.ReadOnlySpan) (rejected int64, err error) {
			_ = sdk.ExportSpans(ctx, batch) // the client has the error
			return client.rejected, client.err
		},
	})}
}

// OnStart does nothing. Spans implements the SDK's SpanProcessor.
func (*Spans) OnStart(context.Context, trace.ReadWriteSpan) {}

// OnEnd queues a span. It never blocks.
func (s *Spans) OnEnd(span trace.ReadOnlySpan) { s.add(span) }

// Shutdown does nothing; use Finish.
func (*Spans) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing; use Finish.
func (*Spans) ForceFlush(context.Context) error { return nil }

// sizeOf estimates the size of a span in a request, in bytes.
func sizeOf(s trace.ReadOnlySpan) (count, bytes int) {
	const base, attribute, event, link = 80, 40, 120, 60
	return 1, base + attribute*len(s.Attributes()) + event*len(s.Events()) + link*len(s.Links())
}

// traceClient sends one request of the SDK's exporter to the collector and keeps the
// result. The exporter's own client reports rejected spans only in the text of an error.
type traceClient struct {
	client   collector.TraceServiceClient
	rejected int64
	err      error
}

// Start does nothing: the connection is the caller's.
func (*traceClient) Start(context.Context) error { return nil }

// Stop does nothing.
func (*traceClient) Stop(context.Context) error { return nil }

// UploadTraces sends a request.
func (c *traceClient) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	answer, err := c.client.Export(ctx, &collector.ExportTraceServiceRequest{ResourceSpans: spans})
	c.rejected, c.err = answer.GetPartialSuccess().GetRejectedSpans(), err
	return err
}
