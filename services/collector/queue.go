package collector

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rackfab/rackfab/services/collector/store"
)

// Bounds of the queue in front of the store.
const (
	queueRequests = 256      // requests
	queueBytes    = 64 << 20 // bytes of requests
	batchRequests = 64       // requests that are written in one step
)

// retryAfter is when a client whose request was refused should try again.
const retryAfter = 200 * time.Millisecond

// job is a request that waits for the disk.
type job struct {
	deliveries []*store.Delivery
	bytes      int64
	forward    proto.Message // what is handed on once it is written; nil for nothing
	done       chan error    // one value
}

// queue holds requests until they are written. It never makes a client wait to get
// in: what does not fit is refused.
type queue struct {
	jobs    chan *job
	bytes   atomic.Int64
	refused atomic.Int64

	mu     sync.RWMutex // held for reading while something is put in
	closed bool
}

func newQueue() *queue { return &queue{jobs: make(chan *job, queueRequests)} }

// put hands over a job, or gives RESOURCE_EXHAUSTED with google.rpc.RetryInfo.
func (q *queue) put(j *job) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return status.Error(codes.Unavailable, "the collector is stopping")
	}
	if q.bytes.Add(j.bytes) > queueBytes && len(q.jobs) > 0 {
		return q.refuse(j)
	}
	select {
	case q.jobs <- j:
		return nil
	default:
		return q.refuse(j)
	}
}

func (q *queue) refuse(j *job) error {
	q.bytes.Add(-j.bytes)
	q.refused.Add(1)
	s := status.Newf(codes.ResourceExhausted, "%d requests wait for the disk: try again", len(q.jobs))
	with, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)})
	if err != nil {
		return s.Err()
	}
	return with.Err()
}

// work writes what comes in until close, as many requests in one step as wait, and
// forwards what is written.
func (q *queue) work(write func([]*store.Delivery) error, forward func(m proto.Message, size int64)) {
	for first := range q.jobs {
		batch := []*job{first}
		for len(batch) < batchRequests && len(q.jobs) > 0 {
			batch = append(batch, <-q.jobs)
		}
		var all []*store.Delivery
		for _, j := range batch {
			all = append(all, j.deliveries...)
		}
		err := write(all)
		for _, j := range batch {
			q.bytes.Add(-j.bytes)
			switch {
			case err != nil:
				q.refused.Add(1)
			case j.forward != nil:
				forward(j.forward, j.bytes)
			}
			j.done <- err
		}
	}
}

// close takes nothing more in; work ends when the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.jobs)
}

var errDisk = errors.New("the store cannot be written")
