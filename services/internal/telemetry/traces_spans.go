package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
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
type Spans struct {
	account
	client   *traceClient
	exporter *otlptrace.Exporter
	ending   chan struct{} // closed when a failure is final
	end      sync.Once
	cancel   context.CancelFunc
	done     chan struct{}

	waiting []trace.ReadOnlySpan
}

// NewSpans returns an exporter on conn, which the caller owns, with a queue of limit
// spans. Close stops it.
func NewSpans(conn grpc.ClientConnInterface, limit int) *Spans {
	ctx, cancel := context.WithCancel(context.Background())
	ending := make(chan struct{})
	client := &traceClient{client: collector.NewTraceServiceClient(conn), ending: ending}
	s := &Spans{
		account: newAccount(limit), client: client, exporter: otlptrace.NewUnstarted(client),
		ending: ending, cancel: cancel, done: make(chan struct{}),
	}
	go s.run(ctx)
	return s
}

// OnStart does nothing. Spans implements the SDK's SpanProcessor.
func (*Spans) OnStart(context.Context, trace.ReadWriteSpan) {}

// OnEnd queues a span. It never blocks.
func (s *Spans) OnEnd(span trace.ReadOnlySpan) {
	s.mu.Lock()
	if s.admit(1) {
		s.waiting = append(s.waiting, span)
	}
	full := len(s.waiting) >= spanLimit
	s.mu.Unlock()
	if full {
		s.stir()
	}
}

// Shutdown does nothing; use Close.
func (*Spans) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing; use Flush.
func (*Spans) ForceFlush(context.Context) error { return nil }

// Flush waits until the queue is empty or ctx ends.
func (s *Spans) Flush(ctx context.Context) {
	empty := s.empty()
	if empty == nil {
		return
	}
	s.stir()
	select {
	case <-empty:
	case <-ctx.Done():
	case <-s.done:
	}
}

// Finish exports the remaining spans and closes the exporter. It drops the spans that
// remain when ctx ends or at the first failure. No span may be added afterwards.
func (s *Spans) Finish(ctx context.Context) {
	s.end.Do(func() { close(s.ending) })
	s.Flush(ctx)
	s.Close()
}

// Close stops the exporter and drops the spans in the queue.
func (s *Spans) Close() {
	s.cancel()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(int64(len(s.waiting)), int64(len(s.waiting)), DropUnreachable)
	s.waiting = nil
}

// run exports queued spans until ctx ends.
func (s *Spans) run(ctx context.Context) {
	defer close(s.done)
	clock := time.NewTicker(linger)
	defer clock.Stop()
	for {
		for batch := s.take(); len(batch) > 0; batch = s.take() {
			// The client has recorded the result.
			_ = s.exporter.ExportSpans(ctx, batch)
			s.conclude(int64(len(batch)), s.client.rejected, s.client.lost)
			if ctx.Err() != nil {
				return
			}
		}
		select {
		case <-s.wake:
		case <-clock.C:
		case <-ctx.Done():
			return
		}
	}
}

// take removes the spans of the next request from the queue.
func (s *Spans) take() []trace.ReadOnlySpan {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, n := 0, 0
	for n < min(len(s.waiting), spanLimit) && bytes < requestBytes {
		bytes += sizeOf(s.waiting[n])
		n++
	}
	batch := s.waiting[:n:n]
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	return batch
}

// sizeOf estimates the size of a span in a request, in bytes.
func sizeOf(s trace.ReadOnlySpan) int {
	const base, attribute, event, link = 80, 40, 120, 60
	return base + attribute*len(s.Attributes()) + event*len(s.Events()) + link*len(s.Links())
}
