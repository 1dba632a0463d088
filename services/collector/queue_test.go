package collector

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/services/collector/store"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// A request that cannot be written is refused, counted, and not forwarded.
func TestFailingStoreRejectsRequests(t *testing.T) {
	q := newQueue()
	j := &job{bytes: 1, request: &tracespb.ExportTraceServiceRequest{}, done: make(chan error, 1)}
	if err := q.put(j); err != nil {
		t.Fatal(err)
	}
	q.close()
	q.work(func([]*store.Delivery) error { return errDisk }, func(proto.Message, int64) { t.Error("forwarded") })
	if err := <-j.done; !errors.Is(err, errDisk) || q.refused.Load() != 1 || q.bytes.Load() != 0 {
		t.Errorf("%v; %d refused, %d bytes", err, q.refused.Load(), q.bytes.Load())
	}
}

// Of consecutive failed writes only the first is logged, and then the recovery.
func TestFailingStoreIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	var c collector
	for _, err := range []error{nil, errDisk, errDisk, errDisk, nil, nil, errDisk} {
		c.logWrite(err)
	}
	if n := strings.Count(log.String(), "cannot write the store, "); n != 2 || strings.Count(log.String(), "again\" failures=3") != 1 {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
}

// A request that does not fit into the queue is refused with RetryInfo and counted.
func TestFullQueueRejectsRequests(t *testing.T) {
	q := newQueue()
	for range queueRequests {
		if err := q.put(&job{bytes: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, j := range []*job{{bytes: 1}, {bytes: queueBytes}} {
		err := q.put(j)
		after, again := telemetry.Retry(err)
		if status.Code(err) != codes.ResourceExhausted || !again || after != retryAfter {
			t.Errorf("%v", err)
		}
	}
	if q.refused.Load() != 2 || q.bytes.Load() != queueRequests {
		t.Errorf("%d refused, %d bytes", q.refused.Load(), q.bytes.Load())
	}
	few := newQueue()
	if err := few.put(&job{bytes: queueBytes + 1}); err != nil {
		t.Errorf("a large request alone: %v", err)
	}
	if err := few.put(&job{bytes: 1}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("beside a large one: %v", err)
	}
	few.close()
	if err := few.put(&job{}); status.Code(err) != codes.Unavailable {
		t.Errorf("after the end: %v", err)
	}
}
