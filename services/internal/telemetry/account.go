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

// Why points and spans are dropped.
const (
	DropQueue       = "queue"       // they came faster than the collector took them
	DropUnreachable = "unreachable" // the run was over and the collector did not answer
	DropRefused     = "refused"     // the collector gave an error that another try does not mend
	DropRejected    = "rejected"    // the collector took the request, but not these (partial success)
)

// Limits of what is sent, in wall time.
const (
	exportLimit = 5 * time.Second
	leastWait   = 50 * time.Millisecond // after a failure, doubled with each
	mostWait    = time.Second
	linger      = time.Second // for more of the same, so that requests are few
)

// Counts says what became of points, or of spans: Made = Sent + Queued + the sum of
// Dropped.
type Counts struct {
	Made, Sent, Queued int64
	Dropped            map[string]int64 // by reason
}

// account counts what goes through a bounded queue, under the lock of the queue.
type account struct {
	mu     sync.Mutex
	limit  int64
	counts Counts
	idle   chan struct{} // closed when nothing is queued; nil if nobody waits for that
	wake   chan struct{} // holds a token while something may wait
}

func newAccount(limit int) account {
	return account{limit: int64(limit), counts: Counts{Dropped: map[string]int64{}}, wake: make(chan struct{}, 1)}
}

// Counts says what became of everything so far.
func (a *account) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counts
	c.Dropped = maps.Clone(c.Dropped)
	return c
}

// admit counts n that are made, and tells whether there is room for them. The caller
// holds the lock.
func (a *account) admit(n int64) bool {
	a.counts.Made += n
	if a.counts.Queued+n > a.limit {
		a.counts.Dropped[DropQueue] += n
		return false
	}
	a.counts.Queued += n
	return true
}

// settle counts n that are no longer queued, and so many of them as dropped. The
// caller holds the lock.
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

// conclude counts a request of n that is over: lost as a whole, if lost says why, or
// taken but for those rejected.
func (a *account) conclude(n, rejected int64, lost string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if lost != "" {
		a.settle(n, n, lost)
		return
	}
	a.settle(n, min(n, max(0, rejected)), DropRejected)
}

// empty gives what is closed when nothing is queued, nil if nothing is.
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

// stir has the goroutine that sends look at the queue.
func (a *account) stir() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// deliver sends a request until the collector has taken it, which is "", has refused
// it, or rest says that there is to be no other try.
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

// Retry tells whether another try may mend the error of a request of OTLP, and after
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
