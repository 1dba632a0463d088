package collector

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Received data is forwarded to another collector over gRPC once it is stored.
func TestForward(t *testing.T) {
	there, address, _ := start(t, Options{Data: t.TempDir()})
	c, _, stop := start(t, Options{Data: t.TempDir(), Forward: address})
	for i := range 20 {
		if _, err := c.traces.Export(t.Context(), request(node("h0"), write(uint64(i+1), i))); err != nil {
			t.Fatal(err)
		}
	}
	stop() // sends the queued requests
	if s := counters(t, there).GetSpans(); s.GetStored() != 20 {
		t.Errorf("there: %v", s)
	}
	list, err := there.api.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Flow: "F0", Limit: 1})
	if err != nil || len(list.GetTraces()) != 1 || list.GetTraces()[0].GetAttributes()[0].GetKey() != "rackfab.bytes" {
		t.Errorf("there: %v, %v", list, err)
	}
}

// disconnects reports when a client has closed its connection.
type disconnects struct {
	sizes
	ended chan struct{}
}

func (h disconnects) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnEnd); ok {
		h.ended <- struct{}{}
	}
}

// A forwarder closes its connection after its last request.
func TestForwardDisconnects(t *testing.T) {
	h := disconnects{ended: make(chan struct{}, 1)}
	s, err := serve.ListenAs(serve.Loopback, nil, serve.Options{Watch: h})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(t.Context()) }() // ends with the test
	f, err := newForwarder(s.Address())
	if err != nil {
		t.Fatal(err)
	}
	f.put(request(node("h0"), write(1, 0)), 100)
	f.close()
	f.work(t.Context())
	<-h.ended
	if f.dropped.Load() != 1 {
		t.Errorf("%d dropped by a server without the service", f.dropped.Load())
	}
}

func TestForwardOverHTTP(t *testing.T) {
	var spans atomic.Int64
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		q := &tracespb.ExportTraceServiceRequest{}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, q) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if spans.Add(items(q)) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable) // retry
		}
	})}
	l, err := net.Listen("tcp", serve.Loopback)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }() // ends with Close
	defer server.Close()
	f, err := newForwarder("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.work(t.Context())
	}()
	f.put(request(node("h0"), write(1, 0)), 100)
	f.put(&metricspb.ExportMetricsServiceRequest{}, 0)
	f.close()
	<-ended
	if spans.Load() != 2 || f.sent.Load() != 1 || f.dropped.Load() != 1 {
		t.Errorf("%d spans there, %d sent, %d dropped", spans.Load(), f.sent.Load(), f.dropped.Load())
	}
}

// A queue that is full, by requests or by bytes, drops requests and counts them.
func TestForwardIsBounded(t *testing.T) {
	f, err := newForwarder("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	two := request(node("h0"), write(1, 0), write(2, 0))
	f.put(two, forwardBytes+1)
	for range forwardRequests + 2 {
		f.put(two, 100)
	}
	if f.dropped.Load() != 3 || f.droppedItems.Load() != 6 {
		t.Errorf("%d requests, %d spans dropped", f.dropped.Load(), f.droppedItems.Load())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	f.close()
	f.work(ctx)
	if f.dropped.Load() != forwardRequests+3 || f.sent.Load() != 0 || f.bytes.Load() != 0 {
		t.Errorf("%d dropped, %d sent, %d bytes wait", f.dropped.Load(), f.sent.Load(), f.bytes.Load())
	}
	for _, bad := range []string{"nonsense", "http://", "ftp://a:1"} {
		if _, err := newForwarder(bad); err == nil || !strings.Contains(err.Error(), "--forward") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
