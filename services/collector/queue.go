package collector

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/services/collector/store"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Limits of the queue in front of the store.
const (
	queueRequests = 256      // requests
	queueBytes    = 64 << 20 // bytes of requests
	batchRequests = 64       // requests written in one transaction
)

// retryAfter is the delay after which a client should retry a refused request.
const retryAfter = 200 * time.Millisecond

// job is a request that waits to be written.
type job struct {
	deliveries []*store.Delivery
	bytes      int64
	request    proto.Message
	done       chan error // receives one value
}

// queue holds requests until they are written. A full queue refuses a request instead of
// blocking the client.
type queue struct {
	jobs    chan *job
	bytes   atomic.Int64
	refused atomic.Int64

	mu     sync.RWMutex // held for reading during put
	closed bool
}

func newQueue() *queue { return &queue{jobs: make(chan *job, queueRequests)} }

// put queues a job, or returns RESOURCE_EXHAUSTED with google.rpc.RetryInfo.
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
	return serve.Busy(retryAfter, "%d requests wait for the disk: try again", len(q.jobs))
}

// work writes queued jobs until close, as many waiting jobs at once as a batch allows,
// and forwards the written ones.
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
			if err != nil {
				q.refused.Add(1)
			} else {
				forward(j.request, j.bytes)
			}
			j.done <- err
		}
	}
}

// close refuses further jobs; work returns once the queue is drained.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.jobs)
}

var errDisk = errors.New("the store cannot be written")
