package telemetry

import (
	"context"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
)

// traceClient sends the requests of the SDK's exporter to the collector. The exporter's
// own client reports rejected spans only in the text of an error; traceClient counts
// them. It is not safe for concurrent use.
type traceClient struct {
	client collector.TraceServiceClient
	ending <-chan struct{} // once closed, a failure is final

	last     bool   // the last attempt has begun
	rejected int64  // rejected spans of the latest upload
	lost     string // why the latest upload was lost as a whole, "" if it was not
}

// Start does nothing: the connection is the caller's.
func (*traceClient) Start(context.Context) error { return nil }

// Stop does nothing.
func (*traceClient) Stop(context.Context) error { return nil }

// UploadTraces sends a request until the collector accepts or refuses it, or a failure
// is final.
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

// rest waits before a retry. It reports false if there is to be no retry: once ending is
// closed, every failure but the first is final.
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
