package telemetry

import (
	"context"
	"maps"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Why points are dropped.
const (
	DropQueue       = "queue"       // they came faster than the collector took them
	DropUnreachable = "unreachable" // the run was over and the collector did not answer
	DropRefused     = "refused"     // the collector gave an error that another try does not mend
	DropRejected    = "rejected"    // the collector took the request, but not these points (partial success)
)

// Limits of Points, in wall time and points.
const (
	DefaultQueue = 64 << 10 // points: 2 MiB
	requestLimit = 4096     // points in one request: below 1 MiB
	exportLimit  = 5 * time.Second
	leastWait    = 50 * time.Millisecond // after a failure, doubled with each
	mostWait     = time.Second
	linger       = time.Second // for more points, so that requests are few
)

// Counts says what became of points: Made = Sent + Queued + the sum of Dropped.
type Counts struct {
	Made, Sent, Queued int64
	Dropped            map[string]int64 // by reason
}

// Points sends points to a collector by OTLP, from a goroutine of its own. Its queue
// is bounded: whoever hands in points never waits, and what finds no room is dropped
// and counted.
//
// The metrics API of OpenTelemetry stamps points with the wall clock, and its SDK's
// exporter tells of rejected points by a log alone. So requests are made of the
// protocol's messages themselves: fabric time, and exact counts.
type Points struct {
	client collector.MetricsServiceClient
	limit  int64
	wake   chan struct{} // holds a token while batches may wait
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	waiting []handed
	counts  Counts
	empty   chan struct{} // closed when nothing is queued; nil if nobody waits for that
	ending  bool          // a failure is final
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
		client: collector.NewMetricsServiceClient(conn), limit: int64(limit),
		wake: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
	}
	p.counts.Dropped = map[string]int64{}
	go p.run(ctx)
	return p
}

// Hand takes a batch over. It never waits.
func (p *Points) Hand(from *Source, b Batch) {
	p.mu.Lock()
	n := int64(len(b.Points))
	p.counts.Made += n
	if p.counts.Queued+n > p.limit {
		p.counts.Dropped[DropQueue] += n
		p.mu.Unlock()
		return
	}
	p.counts.Queued += n
	p.waiting = append(p.waiting, handed{from, b})
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Counts says what became of all points so far.
func (p *Points) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counts
	c.Dropped = maps.Clone(c.Dropped)
	return c
}

// Flush waits until nothing is queued, or drops the rest: when ctx ends, or at the
// first failure of the collector.
func (p *Points) Flush(ctx context.Context) {
	p.mu.Lock()
	if p.counts.Queued == 0 {
		p.mu.Unlock()
		return
	}
	p.ending = true
	if p.empty == nil {
		p.empty = make(chan struct{})
	}
	empty := p.empty
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
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
		p.counts.Dropped[why] += int64(len(h.Points))
		p.counts.Queued -= int64(len(h.Points))
	}
	p.waiting = nil
}

// run sends what waits until ctx ends.
func (p *Points) run(ctx context.Context) {
	defer close(p.done)
	for p.await(ctx) {
		if request, n := p.take(); n > 0 {
			p.deliver(ctx, request, n)
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

// deliver sends a request until the collector has taken it, has refused it, or a
// failure is final.
func (p *Points) deliver(ctx context.Context, request *collector.ExportMetricsServiceRequest, points int) {
	for wait := leastWait; ; wait = min(2*wait, mostWait) {
		limited, cancel := context.WithTimeout(ctx, exportLimit)
		answer, err := p.client.Export(limited, request)
		cancel()
		if err == nil {
			p.settle(int64(points), min(int64(points), max(0, answer.GetPartialSuccess().GetRejectedDataPoints())), DropRejected)
			return
		}
		pause, again := retry(err)
		if !again {
			p.settle(int64(points), int64(points), DropRefused)
			return
		}
		if !p.rest(ctx, max(wait, pause)) {
			p.settle(int64(points), int64(points), DropUnreachable)
			return
		}
	}
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

// settle counts a request that is over, and so many of its points as dropped.
func (p *Points) settle(points, dropped int64, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Queued -= points
	p.counts.Sent += points - dropped
	if dropped > 0 {
		p.counts.Dropped[why] += dropped
	}
	if p.counts.Queued == 0 && p.empty != nil {
		close(p.empty)
		p.empty = nil
	}
}

// retry tells whether another try may mend an error, and after which pause, as the
// specification of OTLP has it.
func retry(err error) (pause time.Duration, again bool) {
	s := status.Convert(err)
	told := false
	for _, d := range s.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			pause, told = r.GetRetryDelay().AsDuration(), true
		}
	}
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		return pause, true
	case codes.ResourceExhausted:
		return pause, told
	default:
		return 0, false
	}
}
