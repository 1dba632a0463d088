package telemetry

import (
	"context"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
)

// traceClient carries what the SDK's exporter makes of spans to the collector. The
// client that comes with the exporter tells of rejected spans by an error's text
// alone; this one counts them. One goroutine uses it.
type traceClient struct {
	client collector.TraceServiceClient
	ending <-chan struct{} // closed: a failure is final

	last     bool   // the last try of all has begun
	rejected int64  // of the latest upload
	lost     string // why the latest upload as a whole was lost, "" if it was not
}

// Start does nothing: the connection is the caller's.
func (*traceClient) Start(context.Context) error { return nil }

// Stop does nothing.
func (*traceClient) Stop(context.Context) error { return nil }

// UploadTraces sends a request until the collector has taken it, has refused it, or
// a failure is final.
func (c *traceClient) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	request := &collector.ExportTraceServiceRequest{ResourceSpans: spans}
	var err error
	c.lost, err = deliver(ctx, func(ctx context.Context) error {
		answer, err := c.client.Export(ctx, request)
		c.rejected = answer.GetPartialSuccess().GetRejectedSpans()
		return err
	}, c.rest)
	return err
}

// rest waits before another try. It is false if there is to be none: after the end
// each failure but the first is final.
func (c *traceClient) rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.ending:
		again := !c.last
		c.last = true
		return again
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
