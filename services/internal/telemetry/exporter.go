package telemetry

import (
	"context"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/services/internal/serve"
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
	limit   int64
	end     func()             // closes ending
	ending  chan struct{}      // closed when nothing more is added
	stop    context.CancelFunc // ends the goroutine at once
	done    chan struct{}      // closed when the goroutine has ended
	wake    chan struct{}      // holds a token when the goroutine should look at the queue

	mu      sync.Mutex
	counts  Counts
	waiting []T
}

// newExporter starts an exporter with a queue of limit items. Finish ends it.
func newExporter[T any](limit int, r request[T]) *exporter[T] {
	ctx, stop := context.WithCancel(context.Background())
	ending := make(chan struct{})
	e := &exporter[T]{
		request: r, limit: int64(limit), end: sync.OnceFunc(func() { close(ending) }), ending: ending,
		stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1), counts: Counts{Dropped: map[string]int64{}},
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
	if e.waiting = append(e.waiting, entry); len(e.waiting) > 1 && e.counts.Queued < int64(e.request.maxCount) {
		return
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Finish sends the queue and ends the exporter. It drops the rest when ctx ends, or when
// a request has failed a second time. Nothing may be added afterwards. A second call
// changes nothing.
func (e *exporter[T]) Finish(ctx context.Context) {
	e.end()
	select {
	case <-e.done:
	case <-ctx.Done():
	}
	e.stop()
	<-e.done
	n := e.Counts().Queued
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
}

// run exports the queue until ctx ends, or until the queue is empty after the end.
func (e *exporter[T]) run(ctx context.Context) {
	defer close(e.done)
	for ctx.Err() == nil {
		e.await(ctx)
		batch, n := e.take()
		if n == 0 {
			return
		}
		e.deliver(ctx, batch, n)
	}
}

// await waits until there is something to export, and then up to linger longer unless a
// request is full. It does not wait after the end or after ctx has ended.
func (e *exporter[T]) await(ctx context.Context) {
	var late <-chan time.Time
	for {
		e.mu.Lock()
		queued := e.counts.Queued
		e.mu.Unlock()
		if queued >= int64(e.request.maxCount) {
			return
		}
		if queued > 0 && late == nil {
			late = time.After(linger)
		}
		select {
		case <-e.wake:
		case <-late:
			return
		case <-e.ending:
			return
		case <-ctx.Done():
			return
		}
	}
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

// deliver sends a request until the collector accepts or refuses it or ctx ends, and
// counts its n items. After the end, the second failure stops the exporter.
func (e *exporter[T]) deliver(ctx context.Context, batch []T, n int64) {
	ending := e.ending // nil during the last attempt
	for wait := minBackoff; ctx.Err() == nil; wait = min(2*wait, maxBackoff) {
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
		case ending == nil:
			e.stop() // Finish drops the queue
		}
		select {
		case <-time.After(max(wait, pause)):
		case <-ctx.Done():
		case <-ending:
			ending = nil
			select {
			case <-time.After(max(minBackoff, pause)):
			case <-ctx.Done():
			}
		}
	}
	e.settle(n, n, DropUnreachable)
}

// Retry reports whether an OTLP request that failed with err may be retried, and after
// which pause: OTLP 1.9, "Failures".
func Retry(err error) (pause time.Duration, again bool) {
	pause, info := serve.RetryAfter(err)
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		return pause, true
	case codes.ResourceExhausted:
		return pause, info
	default:
		return 0, false
	}
}
