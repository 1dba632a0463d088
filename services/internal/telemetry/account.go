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
	leastWait   = 50 * time.Millisecond // after the first failure; doubled with each further one
	mostWait    = time.Second
	linger      = time.Second // wait for more data, so that requests are few
)

// Counts are counts of points or of spans: Made = Sent + Queued + the sum of Dropped.
type Counts struct {
	Made, Sent, Queued int64
	Dropped            map[string]int64 // by reason
}

// account counts the items of a bounded queue, under the lock of the queue.
type account struct {
	mu     sync.Mutex
	limit  int64
	counts Counts
	idle   chan struct{} // closed when the queue becomes empty; nil if nobody waits for that
	wake   chan struct{} // holds a token while the queue may have items
}

func newAccount(limit int) account {
	return account{limit: int64(limit), counts: Counts{Dropped: map[string]int64{}}, wake: make(chan struct{}, 1)}
}

// Counts returns the counts so far.
func (a *account) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counts
	c.Dropped = maps.Clone(c.Dropped)
	return c
}

// admit counts n new items and reports whether the queue has room for them. The caller
// holds mu.
func (a *account) admit(n int64) bool {
	a.counts.Made += n
	if a.counts.Queued+n > a.limit {
		a.counts.Dropped[DropQueue] += n
		return false
	}
	a.counts.Queued += n
	return true
}

// settle counts n items that leave the queue, of which dropped are dropped for the
// reason why. The caller holds mu.
func (a *account) settle(n, dropped int64, why string) {
	a.counts.Queued -= n
	a.counts.Sent += n - dropped
	if dropped > 0 {
		a.counts.Dropped[why] += dropped
	}
	if a.counts.Queued == 0 && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
}

// conclude counts a finished request of n items. If lost is not empty, all items were
// dropped for that reason; otherwise all but the rejected ones were sent.
func (a *account) conclude(n, rejected int64, lost string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if lost != "" {
		a.settle(n, n, lost)
		return
	}
	a.settle(n, min(n, max(0, rejected)), DropRejected)
}

// empty returns a channel that is closed when the queue becomes empty, or nil if it is
// empty.
func (a *account) empty() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts.Queued == 0 {
		return nil
	}
	if a.idle == nil {
		a.idle = make(chan struct{})
	}
	return a.idle
}

// stir wakes the sending goroutine.
func (a *account) stir() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// deliver sends a request until the collector accepts it, refuses it, or rest ends the
// retries. It returns "" or the reason for the loss.
func deliver(ctx context.Context, send func(context.Context) error, rest func(context.Context, time.Duration) bool) (lost string, err error) {
	for wait := leastWait; ; wait = min(2*wait, mostWait) {
		limited, cancel := context.WithTimeout(ctx, exportLimit)
		err = send(limited)
		cancel()
		if err == nil {
			return "", nil
		}
		pause, again := Retry(err)
		switch {
		case !again:
			return DropRefused, err
		case !rest(ctx, max(wait, pause)):
			return DropUnreachable, err
		}
	}
}

// Retry reports whether an OTLP request that failed with err may be retried, and after
// which pause: OTLP 1.9, "Failures".
func Retry(err error) (pause time.Duration, again bool) {
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
