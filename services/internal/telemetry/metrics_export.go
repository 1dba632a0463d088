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

// Points exports points to a collector by OTLP, from its own goroutine. Its queue is
// bounded: Hand never blocks, and points that do not fit are dropped and counted.
//
// The metrics API of OpenTelemetry uses wall-clock timestamps, and its SDK's exporter
// only logs rejected points. Points therefore builds the protocol's messages itself,
// with fabric time and exact counts.
type Points struct {
	account
	client collector.MetricsServiceClient
	cancel context.CancelFunc
	done   chan struct{}

	waiting []handed
	ending  bool // the next failure is final
}

// handed is a batch and its source.
type handed struct {
	from *Source
	Batch
}

// NewPoints returns an exporter on conn, which the caller owns, with a queue of limit
// points. Close stops it.
func NewPoints(conn grpc.ClientConnInterface, limit int) *Points {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Points{
		account: newAccount(limit), client: collector.NewMetricsServiceClient(conn),
		cancel: cancel, done: make(chan struct{}),
	}
	go p.run(ctx)
	return p
}

// Hand queues a batch. It never blocks.
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

// Flush waits until the queue is empty. It drops the rest when ctx ends or at the first
// failure to export.
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

// Close stops the exporter and drops the points in the queue.
func (p *Points) Close() {
	p.cancel()
	<-p.done
	p.drop(DropUnreachable)
}

// drop drops the queue. It does not cancel a request in progress.
func (p *Points) drop(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = false
	for _, h := range p.waiting {
		p.settle(int64(len(h.Points)), int64(len(h.Points)), why)
	}
	p.waiting = nil
}

// run exports queued points until ctx ends.
func (p *Points) run(ctx context.Context) {
	defer close(p.done)
	for p.await(ctx) {
		if request, n := p.take(); n > 0 {
			p.send(ctx, request, n)
		}
	}
}

// await waits until there are points to export, and then up to linger longer unless a
// request is full or the run is over. It reports false if ctx ends.
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

// take removes points from the queue and returns them as a request, with their number.
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

// send sends a request and counts its points.
func (p *Points) send(ctx context.Context, request *collector.ExportMetricsServiceRequest, points int) {
	var rejected int64
	lost, _ := deliver(ctx, func(ctx context.Context) error { // the reason is counted
		answer, err := p.client.Export(ctx, request)
		rejected = answer.GetPartialSuccess().GetRejectedDataPoints()
		return err
	}, p.rest)
	p.conclude(int64(points), rejected, lost)
}

// rest waits before a retry. It reports false if there is to be no retry.
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
