package telemetry

import (
	"context"
	"maps"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reasons for dropping points and spans.
const (
	DropQueue       = "queue"       // produced faster than the collector accepted them
	DropUnreachable = "unreachable" // the run was over and the collector did not respond
	DropRefused     = "refused"     // the collector returned a permanent error
	DropRejected    = "rejected"    // the collector rejected these items of a request (partial success)
)

// Limits of exporting, in wall-clock time.
const (
	exportLimit = 5 * time.Second
	minBackoff  = 50 * time.Millisecond // after the first failure; doubled with each further one
	maxBackoff  = time.Second
	linger      = time.Second // wait for more data, so that requests are few
)

// Counts are counts of points or of spans: Made = Sent + Queued + the sum of Dropped.
type Counts struct {
	Made, Sent, Queued int64
	Dropped            map[string]int64 // by reason
}

// request describes the requests that an exporter sends.
type request[T any] struct {
	send               func(context.Context, []T) (rejected int64, err error)
	size               func(T) (count, bytes int) // of one entry of the queue
	maxCount, maxBytes int                        // of a request, unless a single entry exceeds them
}

// exporter sends points or spans to a collector from its own goroutine. Its queue is
// bounded: add never blocks, and items that do not fit are dropped and counted.
type exporter[T any] struct {
	request request[T]
	cancel  context.CancelFunc
	done    chan struct{} // closed when the goroutine has ended
	wake    chan struct{} // holds a token when the goroutine should look at the state

	mu       sync.Mutex
	limit    int64
	counts   Counts
	waiting  []T
	flushing bool          // send without waiting for more, until the queue is empty
	ending   bool          // the next failure is final
	idle     chan struct{} // closed when the queue becomes empty; nil if nobody waits for that
}

// newExporter starts an exporter with a queue of limit items. Close stops it.
func newExporter[T any](limit int, r request[T]) *exporter[T] {
	ctx, cancel := context.WithCancel(context.Background())
	e := &exporter[T]{
		request: r, cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
		limit: int64(limit), counts: Counts{Dropped: map[string]int64{}},
	}
	go e.run(ctx)
	return e
}

// Counts returns the counts so far.
func (e *exporter[T]) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts
	c.Dropped = maps.Clone(c.Dropped)
	return c
}

// add queues an entry.
func (e *exporter[T]) add(entry T) {
	count, _ := e.request.size(entry)
	n := int64(count)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.Made += n
	if e.counts.Queued+n > e.limit {
		e.counts.Dropped[DropQueue] += n
		return
	}
	e.counts.Queued += n
	if e.waiting = append(e.waiting, entry); len(e.waiting) == 1 || e.counts.Queued >= int64(e.request.maxCount) {
		e.stir()
	}
}

// stir wakes the goroutine.
func (e *exporter[T]) stir() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Flush waits until the queue is empty or ctx ends.
func (e *exporter[T]) Flush(ctx context.Context) { e.flush(ctx, false) }

// Finish waits until the queue is empty. It drops the rest when ctx ends or at the first
// failure. Nothing may be added afterwards.
func (e *exporter[T]) Finish(ctx context.Context) {
	e.flush(ctx, true)
	e.drop()
}

func (e *exporter[T]) flush(ctx context.Context, ending bool) {
	e.mu.Lock()
	e.ending = e.ending || ending
	if e.counts.Queued == 0 {
		e.mu.Unlock()
		return
	}
	e.flushing = true
	if e.idle == nil {
		e.idle = make(chan struct{})
	}
	idle := e.idle
	e.mu.Unlock()
	e.stir()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-e.done:
	}
}

// Close stops the exporter and drops the queue.
func (e *exporter[T]) Close() {
	e.cancel()
	<-e.done
	e.drop()
}

// drop drops the queue. It does not cancel a request in progress.
func (e *exporter[T]) drop() {
	e.mu.Lock()
	var n int64
	for _, entry := range e.waiting {
		count, _ := e.request.size(entry)
		n += int64(count)
	}
	e.waiting = nil
	e.mu.Unlock()
	e.settle(n, n, DropUnreachable)
}

// settle counts n items that leave the queue, of which dropped are dropped for the
// reason.
func (e *exporter[T]) settle(n, dropped int64, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.Queued -= n
	e.counts.Sent += n - dropped
	if dropped > 0 {
		e.counts.Dropped[reason] += dropped
	}
	if e.counts.Queued == 0 && e.idle != nil {
		close(e.idle)
		e.idle, e.flushing = nil, false
	}
}

// run exports the queue until ctx ends.
func (e *exporter[T]) run(ctx context.Context) {
	defer close(e.done)
	for e.await(ctx) {
		batch, n := e.take()
		e.deliver(ctx, batch, n)
	}
}

// await waits until there is something to export, and then up to linger longer unless a
// request is full or the queue is being flushed. It returns false when ctx ends.
func (e *exporter[T]) await(ctx context.Context) bool {
	var late <-chan time.Time
	for ctx.Err() == nil {
		e.mu.Lock()
		queued, flushing := e.counts.Queued, e.flushing
		e.mu.Unlock()
		if queued >= int64(e.request.maxCount) || queued > 0 && flushing {
			return true
		}
		if queued > 0 && late == nil {
			timer := time.NewTimer(linger)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-e.wake:
		case <-late:
			return true
		case <-ctx.Done():
		}
	}
	return false
}

// take removes the entries of the next request from the queue. It returns them and the
// number of their items.
func (e *exporter[T]) take() (batch []T, n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i, bytes := 0, 0
	for ; i < len(e.waiting); i++ {
		count, size := e.request.size(e.waiting[i])
		if i > 0 && (int(n)+count > e.request.maxCount || bytes+size > e.request.maxBytes) {
			break
		}
		n, bytes = n+int64(count), bytes+size
	}
	batch = e.waiting[:i:i]
	if e.waiting = e.waiting[i:]; len(e.waiting) == 0 {
		e.waiting = nil
	}
	return batch, n
}

// deliver sends a request until the collector accepts or refuses it, or a failure is
// final. It counts the n items of the request.
func (e *exporter[T]) deliver(ctx context.Context, batch []T, n int64) {
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		last := e.final()
		limited, cancel := context.WithTimeout(ctx, exportLimit)
		rejected, err := e.request.send(limited, batch)
		cancel()
		pause, again := Retry(err)
		switch {
		case err == nil:
			e.settle(n, min(n, max(0, rejected)), DropRejected)
			return
		case !again:
			e.settle(n, n, DropRefused)
			return
		case last:
			e.drop()
			e.settle(n, n, DropUnreachable)
			return
		case !e.sleep(ctx, max(wait, pause)):
			e.settle(n, n, DropUnreachable)
			return
		}
	}
}

// final reports whether the next failure is final.
func (e *exporter[T]) final() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ending
}

// sleep waits before a retry, but not once a failure would be final. It returns false when
// ctx ends.
func (e *exporter[T]) sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for !e.final() {
		select {
		case <-e.wake:
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Retry reports whether an OTLP request that failed with err may be retried, and after
// which pause: OTLP 1.9, "Failures".
func Retry(err error) (pause time.Duration, again bool) {
	s := status.Convert(err)
	info := false
	for _, d := range s.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			pause, info = r.GetRetryDelay().AsDuration(), true
		}
	}
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		return pause, true
	case codes.ResourceExhausted:
		return pause, info
	default:
		return 0, false
	}
}
