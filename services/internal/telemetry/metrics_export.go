package telemetry

import (
	"context"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
)

// Limits of Points.
const (
	DefaultQueue = 64 << 10 // points: 2 MiB
	requestLimit = 4096     // points in one request: below 1 MiB
)

// Points sends points to a collector by OTLP, from a goroutine of its own. Its queue
// is bounded: whoever hands in points never waits, and what finds no room is dropped
// and counted.
//
// The metrics API of OpenTelemetry stamps points with the wall clock, and its SDK's
// exporter tells of rejected points by a log alone. So requests are made of the
// protocol's messages themselves: fabric time, and exact counts.
type Points struct {
	account
	client collector.MetricsServiceClient
	cancel context.CancelFunc
	done   chan struct{}

	waiting []handed
	ending  bool // a failure is final
}

// handed is a batch and where it comes from.
type handed struct {
	from *Source
	Batch
}

// NewPoints makes a sender on a connection that the caller owns, with room for so
// many points. Close ends it.
func NewPoints(conn grpc.ClientConnInterface, limit int) *Points {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Points{
		account: newAccount(limit), client: collector.NewMetricsServiceClient(conn),
		cancel: cancel, done: make(chan struct{}),
	}
	go p.run(ctx)
	return p
}

// Hand takes a batch over. It never waits.
func (p *Points) Hand(from *Source, b Batch) {
	p.mu.Lock()
	room := p.admit(int64(len(b.Points)))
	if room {
		p.waiting = append(p.waiting, handed{from, b})
	}
	p.mu.Unlock()
	if room {
		p.stir()
	}
}

// Flush waits until nothing is queued, or drops the rest: when ctx ends, or at the
// first failure of the collector.
func (p *Points) Flush(ctx context.Context) {
	empty := p.empty()
	if empty == nil {
		return
	}
	p.mu.Lock()
	p.ending = true
	p.mu.Unlock()
	p.stir()
	select {
	case <-empty:
	case <-ctx.Done():
	case <-p.done:
	}
	p.drop(DropUnreachable)
}

// Close ends the sending; what is queued is dropped.
func (p *Points) Close() {
	p.cancel()
	<-p.done
	p.drop(DropUnreachable)
}

// drop gives up what waits. A request that is under way goes on.
func (p *Points) drop(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = false
	for _, h := range p.waiting {
		p.settle(int64(len(h.Points)), int64(len(h.Points)), why)
	}
	p.waiting = nil
}

// run sends what waits until ctx ends.
func (p *Points) run(ctx context.Context) {
	defer close(p.done)
	for p.await(ctx) {
		if request, n := p.take(); n > 0 {
			p.send(ctx, request, n)
		}
	}
}

// await waits until there is something to send, and a while longer unless a request
// is full or the run is over. It is false if ctx ends.
func (p *Points) await(ctx context.Context) bool {
	var late <-chan time.Time
	for {
		p.mu.Lock()
		queued, ending := p.counts.Queued, p.ending
		p.mu.Unlock()
		if queued >= requestLimit || queued > 0 && ending {
			return true
		}
		if queued > 0 && late == nil {
			timer := time.NewTimer(linger)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-p.wake:
		case <-late:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// take makes a request of what waits, and gives the number of its points.
func (p *Points) take() (request *collector.ExportMetricsServiceRequest, points int) {
	p.mu.Lock()
	count := 0
	for count < len(p.waiting) && (count == 0 || points+len(p.waiting[count].Points) <= requestLimit) {
		points += len(p.waiting[count].Points)
		count++
	}
	taken := p.waiting[:count:count]
	if p.waiting = p.waiting[count:]; len(p.waiting) == 0 {
		p.waiting = nil
	}
	p.mu.Unlock()
	var order []*Source
	by := map[*Source][]Batch{}
	for _, h := range taken {
		if by[h.from] == nil {
			order = append(order, h.from)
		}
		by[h.from] = append(by[h.from], h.Batch)
	}
	request = &collector.ExportMetricsServiceRequest{}
	for _, from := range order {
		request.ResourceMetrics = append(request.ResourceMetrics, from.encode(by[from]))
	}
	return request, points
}

// send sees to it that a request ends, and counts what came of it.
func (p *Points) send(ctx context.Context, request *collector.ExportMetricsServiceRequest, points int) {
	var rejected int64
	lost, _ := deliver(ctx, func(ctx context.Context) error { // the reason is counted
		answer, err := p.client.Export(ctx, request)
		rejected = answer.GetPartialSuccess().GetRejectedDataPoints()
		return err
	}, p.rest)
	p.conclude(int64(points), rejected, lost)
}

// rest waits before another try. It is false if there is to be none.
func (p *Points) rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		p.mu.Lock()
		ending := p.ending
		p.mu.Unlock()
		if ending {
			p.drop(DropUnreachable)
			return false
		}
		select {
		case <-p.wake:
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}
