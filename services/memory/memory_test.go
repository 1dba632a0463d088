package memory_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // requests come packed

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/memory"
)

// sink takes everything and counts it.
type sink struct {
	traces.UnimplementedTraceServiceServer
	mu     sync.Mutex
	spans  int64
	points int64
}

func (s *sink) Export(_ context.Context, q *traces.ExportTraceServiceRequest) (*traces.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range q.GetResourceSpans() {
		for _, l := range r.GetScopeSpans() {
			s.spans += int64(len(l.GetSpans()))
		}
	}
	return &traces.ExportTraceServiceResponse{}, nil
}

// pointSink takes points.
type pointSink struct {
	metrics.UnimplementedMetricsServiceServer
	*sink
}

func (p pointSink) Export(_ context.Context, q *metrics.ExportMetricsServiceRequest) (*metrics.ExportMetricsServiceResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range q.GetResourceMetrics() {
		for _, l := range r.GetScopeMetrics() {
			for _, m := range l.GetMetrics() {
				p.points += int64(len(m.GetGauge().GetDataPoints()) + len(m.GetSum().GetDataPoints()))
			}
		}
	}
	return &metrics.ExportMetricsServiceResponse{}, nil
}

func serve(tb testing.TB) (*sink, string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s, server := &sink{}, grpc.NewServer()
	traces.RegisterTraceServiceServer(server, s)
	metrics.RegisterMetricsServiceServer(server, pointSink{sink: s})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	tb.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			tb.Error(err)
		}
	})
	return s, l.Addr().String()
}

func paper(tb testing.TB, duration, scheme string) *topology.Scenario {
	tb.Helper()
	text, _ := topology.Builtin("pcn-16to2")
	s, err := topology.ParseWith("pcn-16to2", text, []topology.Setting{{Key: "duration", Value: duration}, {Key: "scheme", Value: scheme}})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// A run in memory tells everything, and its digest is that of a run that tells
// nothing.
func TestEverythingIsTold(t *testing.T) {
	s, address := serve(t)
	var digests []string
	for _, tell := range []bool{false, true} {
		l, err := lab.New(paper(t, "1ms", "pcn"))
		if err != nil {
			t.Fatal(err)
		}
		if tell {
			told, err := memory.Attach(l, address, nil, &rackfabv1.Telemetry{Run: "test", SampleRatio: 0.2, SampleFlows: "F1"})
			if err != nil {
				t.Fatal(err)
			}
			defer told.Close()
			l.Run(unit.Millisecond)
			told.Finish(unit.Millisecond)
			c := told.Counts()
			if c.GetMade() == 0 || c.GetMade() != s.spans || c.GetPointsMade() == 0 || c.GetPointsMade() != s.points || len(c.GetDropped())+len(c.GetPointsDropped()) > 0 {
				t.Errorf("told %v, the collector has %d spans and %d points", c, s.spans, s.points)
			}
		}
		l.Run(unit.Millisecond)
		run, err := l.Outcome()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, run.Digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v", digests)
	}
}

func TestBadPatternIsRefused(t *testing.T) {
	l, err := lab.New(paper(t, "1ms", "pfc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Attach(l, "127.0.0.1:1", nil, &rackfabv1.Telemetry{SampleFlows: "F["}); err == nil || !strings.Contains(err.Error(), `"F["`) {
		t.Errorf("got %v", err)
	}
}
