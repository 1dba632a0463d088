package collector

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// Limits of forwarding.
const (
	forwardRequests = 512              // requests in the queue
	forwardBytes    = 64 << 20         // bytes of requests in the queue
	forwardLimit    = 10 * time.Second // for one attempt
	forwardPatience = time.Minute      // for all attempts of one request
	firstBackoff    = 100 * time.Millisecond
	maxBackoff      = 5 * time.Second
)

// forwarder forwards requests to another OTLP endpoint, in order. It drops and counts
// requests that do not fit into its queue or that the endpoint rejects permanently. A
// nil forwarder ignores all requests.
type forwarder struct {
	send  func(context.Context, proto.Message) (rejected int64, err error)
	end   func() // closes the connections
	queue chan parcel
	bytes atomic.Int64

	sent, dropped, droppedItems atomic.Int64
}

// parcel is a queued request.
type parcel struct {
	request proto.Message
	bytes   int64
}

// newForwarder returns a forwarder to an endpoint. HOST:PORT and grpc://HOST:PORT mean
// OTLP over gRPC, grpcs:// the same with TLS, http:// and https:// OTLP over HTTP. It
// returns nil if endpoint is empty.
func newForwarder(endpoint string) (*forwarder, error) {
	if endpoint == "" {
		return nil, nil
	}
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if !ok {
		scheme, rest = "grpc", endpoint
	}
	f := &forwarder{queue: make(chan parcel, forwardRequests)}
	switch scheme {
	case "http", "https":
		if u, err := url.Parse(endpoint); err != nil || u.Host == "" {
			return nil, fmt.Errorf("--forward %q: want a URL", endpoint)
		}
		client := &http.Client{}
		f.send, f.end = overHTTP(client, strings.TrimSuffix(endpoint, "/")), client.CloseIdleConnections
		return f, nil
	case "grpc", "grpcs":
		if _, _, err := net.SplitHostPort(rest); err != nil {
			return nil, fmt.Errorf("--forward %q: want HOST:PORT", endpoint)
		}
		security := insecure.NewCredentials()
		if scheme == "grpcs" {
			security = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
		}
		conn, err := grpc.NewClient(rest, grpc.WithTransportCredentials(security), grpc.WithDisableServiceConfig())
		if err != nil {
			return nil, fmt.Errorf("--forward %q: %w", endpoint, err)
		}
		f.send, f.end = overGRPC(conn), func() { _ = conn.Close() } // all calls are over
		return f, nil
	}
	return nil, fmt.Errorf("--forward %q: want HOST:PORT, grpc://, grpcs://, http:// or https://", endpoint)
}

// overGRPC returns a function that sends OTLP over gRPC.
func overGRPC(conn *grpc.ClientConn) func(context.Context, proto.Message) (int64, error) {
	traces, metrics := tracespb.NewTraceServiceClient(conn), metricspb.NewMetricsServiceClient(conn)
	return func(ctx context.Context, m proto.Message) (int64, error) {
		switch m := m.(type) {
		case *tracespb.ExportTraceServiceRequest:
			out, err := traces.Export(ctx, m)
			return rejected(out), err
		case *metricspb.ExportMetricsServiceRequest:
			out, err := metrics.Export(ctx, m)
			return rejected(out), err
		}
		return 0, nil
	}
}

// overHTTP returns a function that sends OTLP over HTTP, in protobuf encoding.
func overHTTP(client *http.Client, base string) func(context.Context, proto.Message) (int64, error) {
	return func(ctx context.Context, m proto.Message) (int64, error) {
		path, answer := "/v1/traces", proto.Message(&tracespb.ExportTraceServiceResponse{})
		if _, ok := m.(*metricspb.ExportMetricsServiceRequest); ok {
			path, answer = "/v1/metrics", &metricspb.ExportMetricsServiceResponse{}
		}
		body, err := proto.Marshal(m)
		if err != nil {
			return 0, err
		}
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		q.Header.Set("Content-Type", "application/x-protobuf")
		r, err := client.Do(q)
		if err != nil {
			return 0, status.Error(codes.Unavailable, err.Error())
		}
		defer func() { _ = r.Body.Close() }() // it has been read
		text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		switch {
		case err != nil:
			return 0, status.Error(codes.Unavailable, err.Error())
		case r.StatusCode == 429 || r.StatusCode >= 502 && r.StatusCode <= 504:
			return 0, status.Error(codes.Unavailable, r.Status)
		case r.StatusCode != http.StatusOK:
			return 0, status.Error(codes.InvalidArgument, r.Status)
		}
		if err := proto.Unmarshal(text, answer); err != nil {
			return 0, nil // an endpoint with another response format has accepted everything
		}
		return rejected(answer), nil
	}
}

func rejected(answer proto.Message) int64 {
	switch a := answer.(type) {
	case *tracespb.ExportTraceServiceResponse:
		return a.GetPartialSuccess().GetRejectedSpans()
	case *metricspb.ExportMetricsServiceResponse:
		return a.GetPartialSuccess().GetRejectedDataPoints()
	}
	return 0
}

// copy clones a request for put, because the store changes the original.
func (f *forwarder) copy(m proto.Message) proto.Message {
	if f == nil {
		return nil
	}
	return proto.Clone(m)
}

// put queues a request of size bytes, or drops it if the queue is full.
func (f *forwarder) put(m proto.Message, size int64) {
	if f == nil {
		return
	}
	p := parcel{m, size}
	if f.bytes.Add(size) > forwardBytes {
		f.drop(p)
		return
	}
	select {
	case f.queue <- p:
	default:
		f.drop(p)
	}
}

func (f *forwarder) drop(p parcel) {
	f.bytes.Add(-p.bytes)
	f.dropped.Add(1)
	f.droppedItems.Add(items(p.request))
}

// items returns the number of spans or points in a request.
func items(m proto.Message) (n int64) {
	switch m := m.(type) {
	case *tracespb.ExportTraceServiceRequest:
		for _, r := range m.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				n += int64(len(s.GetSpans()))
			}
		}
	case *metricspb.ExportMetricsServiceRequest:
		for _, r := range m.GetResourceMetrics() {
			for _, s := range r.GetScopeMetrics() {
				for _, one := range s.GetMetrics() {
					points, _, other := shape(one)
					n += int64(len(points) + other)
				}
			}
		}
	}
	return n
}

// hangUp closes the connections of a forwarder whose work was never called.
func (f *forwarder) hangUp() {
	if f != nil {
		f.end()
	}
}

// close ends the queue; work returns once it is drained.
func (f *forwarder) close() {
	if f != nil {
		close(f.queue)
	}
}

// work sends queued requests until close, and then closes the connections. After ctx
// ends, each request has one attempt left.
func (f *forwarder) work(ctx context.Context) {
	if f == nil {
		return
	}
	defer f.end()
	for p := range f.queue {
		lost, err := f.deliver(ctx, p.request)
		if err != nil {
			f.drop(p)
			continue
		}
		f.bytes.Add(-p.bytes)
		f.sent.Add(1)
		f.droppedItems.Add(lost)
	}
}

// deliver sends one request and retries while the error is temporary. It returns the
// number of items that the endpoint rejected.
func (f *forwarder) deliver(ctx context.Context, m proto.Message) (int64, error) {
	patience, cancel := context.WithTimeout(ctx, forwardPatience)
	defer cancel()
	for wait := firstBackoff; ; wait = min(2*wait, maxBackoff) {
		attempt, done := context.WithTimeout(context.WithoutCancel(ctx), forwardLimit)
		lost, err := f.send(attempt, m)
		done()
		if err == nil {
			return lost, nil
		}
		after, again := telemetry.Retry(err)
		if !again {
			return lost, err
		}
		timer := time.NewTimer(cmp.Or(after, wait))
		select {
		case <-timer.C:
		case <-patience.Done():
			timer.Stop()
			return 0, errors.Join(err, patience.Err())
		}
	}
}
