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
	send       sender
	disconnect func()
	queue      chan parcel
	bytes      atomic.Int64

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
	security := insecure.NewCredentials()
	switch scheme {
	case "http", "https":
		if u, err := url.Parse(endpoint); err != nil || u.Host == "" {
			return nil, fmt.Errorf("--forward %q: must be a URL with a host", endpoint)
		}
		client := &http.Client{}
		f.send, f.disconnect = overHTTP(client, strings.TrimSuffix(endpoint, "/")), client.CloseIdleConnections
		return f, nil
	case "grpcs":
		security = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	case "grpc":
	default:
		return nil, fmt.Errorf("--forward %q: must be HOST:PORT, or begin with grpc://, grpcs://, http:// or https://", endpoint)
	}
	if _, _, err := net.SplitHostPort(rest); err != nil {
		return nil, fmt.Errorf("--forward %q: must be HOST:PORT", endpoint)
	}
	conn, err := grpc.NewClient(rest, grpc.WithTransportCredentials(security), grpc.WithDisableServiceConfig())
	if err != nil {
		return nil, fmt.Errorf("--forward %q: %w", endpoint, err)
	}
	f.send, f.disconnect = overGRPC(conn), func() { _ = conn.Close() } // all calls are over
	return f, nil
}

// sender exports one request and returns the number of items that the endpoint rejected.
type sender func(context.Context, proto.Message) (rejected int64, err error)

// exchange is the call that forwards one request.
type exchange struct {
	method, path string // of gRPC, and of HTTP
	response     proto.Message
	rejected     func() int64 // the number of items that the response rejects
}

func exchangeOf(m proto.Message) exchange {
	if _, ok := m.(*metricspb.ExportMetricsServiceRequest); ok {
		out := &metricspb.ExportMetricsServiceResponse{}
		rejected := func() int64 { return out.GetPartialSuccess().GetRejectedDataPoints() }
		return exchange{metricspb.MetricsService_Export_FullMethodName, "/v1/metrics", out, rejected}
	}
	out := &tracespb.ExportTraceServiceResponse{}
	rejected := func() int64 { return out.GetPartialSuccess().GetRejectedSpans() }
	return exchange{tracespb.TraceService_Export_FullMethodName, "/v1/traces", out, rejected}
}

// overGRPC exports OTLP over gRPC.
func overGRPC(conn *grpc.ClientConn) sender {
	return func(ctx context.Context, m proto.Message) (int64, error) {
		x := exchangeOf(m)
		err := conn.Invoke(ctx, x.method, m, x.response)
		return x.rejected(), err
	}
}

// overHTTP exports OTLP over HTTP, in protobuf encoding.
func overHTTP(client *http.Client, base string) sender {
	return func(ctx context.Context, m proto.Message) (int64, error) {
		x := exchangeOf(m)
		body, err := proto.Marshal(m)
		if err != nil {
			return 0, err
		}
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, base+x.path, bytes.NewReader(body))
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
		case proto.Unmarshal(text, x.response) != nil:
			return 0, nil // an endpoint with another response format has accepted everything
		}
		return x.rejected(), nil
	}
}

// items returns the number of spans or points in a request.
func items(m proto.Message) (n int64) {
	switch m := m.(type) {
	case *tracespb.ExportTraceServiceRequest:
		for _, r := range m.GetResourceSpans() {
			n += int64(len(spansOf(r)))
		}
	case *metricspb.ExportMetricsServiceRequest:
		for _, r := range m.GetResourceMetrics() {
			for _, one := range metricsOf(r) {
				points, _, other := pointsOf(one)
				n += int64(len(points) + other)
			}
		}
	}
	return n
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
	defer f.disconnect()
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
		select {
		case <-time.After(cmp.Or(after, wait)):
		case <-patience.Done():
			return 0, errors.Join(err, patience.Err())
		}
	}
}
