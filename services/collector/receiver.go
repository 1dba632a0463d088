package collector

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/services/collector/store"
)

// collector is the state that the receivers and the service share.
type collector struct {
	store    *store.Store
	queue    *queue
	forward  *forwarder // nil for none
	follow   *hub
	epochs   *epochs
	maxSize  int64
	received atomic.Int64 // bytes
	bodies   atomic.Int64 // bytes of the bodies over HTTP that are read or processed
	failures int          // consecutive failed writes; used by the writer only
}

func newCollector(s *store.Store, f *forwarder, maxSize int64) *collector {
	return &collector{store: s, queue: newQueue(), forward: f, follow: newHub(), epochs: newEpochs(s), maxSize: maxSize}
}

// write stores deliveries and sends them to the followers.
func (c *collector) write(all []*store.Delivery) error {
	err := c.store.Write(time.Now(), all)
	c.logWrite(err)
	if err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	c.follow.publish(all)
	return nil
}

// logWrite logs the first of consecutive failed writes and the recovery, because a full disk
// fails every write.
func (c *collector) logWrite(err error) {
	switch {
	case err != nil && c.failures == 0:
		slog.Error("cannot write the store, refusing requests", "error", err)
	case err == nil && c.failures > 0:
		slog.Info("writing the store again", "failures", c.failures)
	}
	if c.failures++; err == nil {
		c.failures = 0
	}
}

// export stores the deliveries of a request and returns once they are on disk. It
// returns the number of rejected items and adds to the reasons why. The error is a gRPC
// status that lets the client retry.
func (c *collector) export(ctx context.Context, request proto.Message, all []*store.Delivery, why *reasons) (rejected int64, err error) {
	size := sizeOf(ctx)
	c.received.Add(size)
	j := &job{deliveries: all, bytes: size, request: request, done: make(chan error, 1)}
	if err := c.queue.put(j); err != nil {
		return 0, err
	}
	select {
	case err := <-j.done:
		if err != nil {
			return 0, status.Error(codes.Unavailable, err.Error())
		}
	case <-ctx.Done():
		return 0, status.FromContextError(ctx.Err()).Err()
	}
	for _, d := range all {
		rejected += d.Rejected.Spans + d.Rejected.Points
		if d.Full {
			spans, points := d.Size()
			rejected += spans + points
			why.add(store.ErrFull.Error())
		}
	}
	return rejected, nil
}

// traceReceiver is the TraceService of OTLP.
type traceReceiver struct {
	tracespb.UnimplementedTraceServiceServer
	*collector
}

// Export stores spans. It reports invalid spans in partial_success.
func (r traceReceiver) Export(ctx context.Context, q *tracespb.ExportTraceServiceRequest) (*tracespb.ExportTraceServiceResponse, error) {
	all, why := r.epochs.spans(q)
	rejected, err := r.export(ctx, q, all, why)
	out := &tracespb.ExportTraceServiceResponse{}
	if rejected > 0 {
		out.PartialSuccess = &tracespb.ExportTracePartialSuccess{RejectedSpans: rejected, ErrorMessage: why.String()}
	}
	return out, err
}

// metricsReceiver is the MetricsService of OTLP.
type metricsReceiver struct {
	metricspb.UnimplementedMetricsServiceServer
	*collector
}

// Export stores the points of gauges and sums. It reports other and invalid points in
// partial_success.
func (r metricsReceiver) Export(ctx context.Context, q *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	all, why := r.epochs.points(q)
	rejected, err := r.export(ctx, q, all, why)
	out := &metricspb.ExportMetricsServiceResponse{}
	if rejected > 0 {
		out.PartialSuccess = &metricspb.ExportMetricsPartialSuccess{RejectedDataPoints: rejected, ErrorMessage: why.String()}
	}
	return out, err
}

// reasons lists why items of a request are invalid, each reason once.
type reasons []string

// maxReasons is the maximum number of reasons in a response.
const maxReasons = 10

func (r *reasons) add(text string) {
	if !slices.Contains(*r, text) && len(*r) < maxReasons {
		*r = append(*r, text)
	}
}

func (r *reasons) String() string { return strings.Join(*r, "; ") }
