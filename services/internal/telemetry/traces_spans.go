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
	// DefaultSpans is how many spans wait for the collector, at about 1 KiB each.
	DefaultSpans = 8192
	spanLimit    = 512     // in one request
	requestBytes = 1 << 20 // in one request, about: servers of gRPC take 4 MiB by default
)

// Spans sends spans to a collector by OTLP, from a goroutine of its own. Its queue
// is bounded: whoever hands in a span never waits, and what finds no room is dropped
// and counted, which the SDK's own batch processor does not do.
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

// NewSpans makes a sender on a connection that the caller owns, with room for so
// many spans. Close ends it.
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

// OnStart does nothing. It makes Spans a processor of spans.
func (*Spans) OnStart(context.Context, trace.ReadWriteSpan) {}

// OnEnd takes a span over. It never waits.
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

// Shutdown does nothing: Close does.
func (*Spans) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing: Flush does.
func (*Spans) ForceFlush(context.Context) error { return nil }

// Flush waits until nothing is queued, or ctx ends.
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

// Finish is Flush at the end: what is not sent when ctx ends, or at the first
// failure, is dropped. No span may be handed in any more.
func (s *Spans) Finish(ctx context.Context) {
	s.end.Do(func() { close(s.ending) })
	s.Flush(ctx)
	s.Close()
}

// Close ends the sending; what is queued is dropped.
func (s *Spans) Close() {
	s.cancel()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(int64(len(s.waiting)), int64(len(s.waiting)), DropUnreachable)
	s.waiting = nil
}

// run sends what waits until ctx ends.
func (s *Spans) run(ctx context.Context) {
	defer close(s.done)
	clock := time.NewTicker(linger)
	defer clock.Stop()
	for {
		for batch := s.take(); len(batch) > 0; batch = s.take() {
			// The client has counted what came of it.
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

// take gives the spans of the next request.
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

// sizeOf estimates what a span takes in a request, in bytes.
func sizeOf(s trace.ReadOnlySpan) int {
	const base, attribute, event, link = 80, 40, 120, 60
	return base + attribute*len(s.Attributes()) + event*len(s.Events()) + link*len(s.Links())
}
