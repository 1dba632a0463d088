package collector

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// dataVariable makes the test binary a collector on that folder.
const dataVariable = "COLLECTOR_TEST_DATA"

func TestMain(m *testing.M) {
	if data := os.Getenv(dataVariable); data != "" {
		if err := Main(context.Background(), Options{Listen: serve.Loopback, Data: data, Ready: os.Stdout}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // the main of the child
		}
		return
	}
	m.Run()
}

const epoch = 1_577_836_800_000_000_000 // 2020-01-01T00:00:00Z

// clients are those of a collector.
type clients struct {
	traces  tracespb.TraceServiceClient
	metrics metricspb.MetricsServiceClient
	asks    rackfabv1.CollectorServiceClient
}

func dial(t *testing.T, address string) clients {
	t.Helper()
	conn, err := serve.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // its server is gone
	return clients{tracespb.NewTraceServiceClient(conn), metricspb.NewMetricsServiceClient(conn), rackfabv1.NewCollectorServiceClient(conn)}
}

// start runs a collector in this process until the test's end, or stop.
func start(t *testing.T, o Options) (c clients, address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	o.Listen, o.Ready = serve.Loopback, in
	ended := make(chan error, 1)
	go func() {
		err := Main(ctx, o)
		_ = in.CloseWithError(fmt.Errorf("no collector: %w", err)) // never fails
		ended <- err
	}()
	var ready serve.Ready
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	done := false
	stop = func() {
		if cancel(); !done {
			done = true
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return dial(t, ready.Address), ready.Address, stop
}

func attr(key string, value any) *commonpb.KeyValue {
	v := &commonpb.AnyValue{}
	switch x := value.(type) {
	case string:
		v.Value = &commonpb.AnyValue_StringValue{StringValue: x}
	case int:
		v.Value = &commonpb.AnyValue_IntValue{IntValue: int64(x)}
	}
	return &commonpb.KeyValue{Key: key, Value: v}
}

// node is the resource of a node of a rack in run a.
func node(name string) *resourcepb.Resource {
	return &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
		attr("service.name", "rackfab-nic"), attr("service.instance.id", name), attr("rackfab.node", name), attr("rackfab.run", "a"),
		attr("rackfab.scenario", "pair"), attr("rackfab.scheme", "pcn"), attr("rackfab.seed", 7), attr("rackfab.epoch_unix_nano", epoch),
	}}
}

// write is the span of a WRITE that begins at from ns and lasts a microsecond.
func write(id uint64, from int) *tracepb.Span {
	return &tracepb.Span{
		TraceId: fmt.Appendf(nil, "%016x", id), SpanId: fmt.Appendf(nil, "%08x", id), Name: "WRITE",
		StartTimeUnixNano: epoch + uint64(from), EndTimeUnixNano: epoch + uint64(from) + 1000,
		Attributes: []*commonpb.KeyValue{
			attr("rackfab.flow", "F0"), attr("rackfab.start_ps", from*1000+7), attr("rackfab.end_ps", from*1000+1_000_009), attr("rackfab.bytes", 4096),
		},
		Events: []*tracepb.Span_Event{{Name: "pause", TimeUnixNano: epoch + uint64(from) + 5}},
	}
}

func request(r *resourcepb.Resource, spans ...*tracepb.Span) *tracespb.ExportTraceServiceRequest {
	return &tracespb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{Resource: r, ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}}
}

func counters(t *testing.T, c clients) *rackfabv1.GetCountersResponse {
	t.Helper()
	out, err := c.asks.GetCounters(t.Context(), &rackfabv1.GetCountersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSpansComeInPlainAndPacked(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	for i, option := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		out, err := c.traces.Export(t.Context(), request(node("h0"), write(uint64(i+1), 500*i)), option...)
		if err != nil || out.GetPartialSuccess() != nil {
			t.Fatal(out, err)
		}
	}
	list, err := c.asks.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Flow: "F0", Order: rackfabv1.TraceOrder_TRACE_ORDER_LATEST})
	if err != nil || len(list.GetTraces()) != 2 {
		t.Fatal(list, err)
	}
	out, err := c.asks.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: list.GetTraces()[0].GetTraceId()})
	want := &rackfabv1.GetTraceResponse{Run: "a", TraceId: "30303030303030303030303030303032", Spans: []*rackfabv1.Span{{
		SpanId: "3030303030303032", Name: "WRITE", Node: "h0", Service: "rackfab-nic", Flow: "F0", StartPs: 500_007, EndPs: 1_500_009,
		Attributes: []*rackfabv1.Attribute{{Key: "rackfab.bytes", Value: &rackfabv1.Attribute_Number{Number: 4096}}},
		Events:     []*rackfabv1.SpanEvent{{Name: "pause", AtPs: 505_000}},
	}}}
	if diff := cmp.Diff(want, out, protocmp.Transform()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if runs, err := c.asks.ListRuns(t.Context(), &rackfabv1.ListRunsRequest{}); err != nil || len(runs.GetRuns()) != 1 || runs.GetRuns()[0].GetEpochUnixNano() != epoch {
		t.Error(runs, err)
	}
}

// What is not valid is told by partial_success, and the rest is stored.
func TestSpansThatAreNotValid(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	bad := func(change func(*tracepb.Span)) *tracepb.Span {
		s := write(9, 0)
		change(s)
		return s
	}
	out, err := c.traces.Export(t.Context(), request(node("h0"), write(1, 0),
		bad(func(s *tracepb.Span) { s.TraceId = s.TraceId[:8] }),
		bad(func(s *tracepb.Span) { s.TraceId = make([]byte, 16) }),
		bad(func(s *tracepb.Span) { s.SpanId = nil }),
		bad(func(s *tracepb.Span) { s.ParentSpanId = []byte{1} }),
		bad(func(s *tracepb.Span) { s.EndTimeUnixNano = s.StartTimeUnixNano - 1 }),
		bad(func(s *tracepb.Span) { s.Attributes = []*commonpb.KeyValue{attr("rackfab.end_ps", -5)} }),
	))
	if err != nil {
		t.Fatal(err)
	}
	const why = "trace_id: want 16 bytes, not all 0; span_id: want 8 bytes, not all 0; parent_span_id: want 8 bytes, not all 0, or none; " +
		"end_time_unix_nano: want no instant before the start; rackfab.end_ps: want no instant before rackfab.start_ps"
	if p := out.GetPartialSuccess(); p.GetRejectedSpans() != 6 || p.GetErrorMessage() != why {
		t.Errorf("%v", p)
	}
	if s := counters(t, c).GetSpans(); s.GetReceived() != 7 || s.GetStored() != 1 || s.GetRejected() != 6 {
		t.Errorf("%v", s)
	}
}

// A client that is no node, on wall time, has a run of its own; so have spans of a
// node that are not on fabric time.
func TestForeignSpans(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	const now = 1_790_000_000_123_456_789
	call := &tracepb.Span{
		TraceId: fmt.Appendf(nil, "%016x", 5), SpanId: fmt.Appendf(nil, "%08x", 5), Name: "call", StartTimeUnixNano: now, EndTimeUnixNano: now + 10,
		Kind: tracepb.Span_SPAN_KIND_CLIENT, Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR},
		Links: []*tracepb.Span_Link{{TraceId: fmt.Appendf(nil, "%016x", 6), SpanId: fmt.Appendf(nil, "%08x", 6)}},
	}
	stock := &resourcepb.Resource{Attributes: []*commonpb.KeyValue{attr("service.name", "stock"), attr("host.name", "box")}}
	for _, q := range []*tracespb.ExportTraceServiceRequest{request(node("h0"), write(1, 0), call), request(stock, call)} {
		if out, err := c.traces.Export(t.Context(), q); err != nil || out.GetPartialSuccess() != nil {
			t.Fatal(out, err)
		}
	}
	out, err := c.asks.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{Run: "default", TraceId: "30303030303030303030303030303035"})
	if err != nil || len(out.GetSpans()) != 1 {
		t.Fatal(out, err)
	}
	s := out.GetSpans()[0]
	if s.GetStartPs() != 123_456_789_000 || s.GetError() != "failed" || s.GetEvents()[0].GetName() != "link" || s.GetAttributes()[0].GetKey() != "span.kind" {
		t.Errorf("%v", s)
	}
	if c := counters(t, c).GetSpans(); c.GetStored() != 2 || c.GetDuplicates() != 1 {
		t.Errorf("%v", c)
	}
}

func TestPointsComeIn(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	follow, err := c.asks.Follow(t.Context(), &rackfabv1.FollowRequest{AllMetrics: true, Traces: true})
	if err != nil {
		t.Fatal(err)
	}
	point := func(at uint64, v int64, port int) *metricpb.NumberDataPoint {
		return &metricpb.NumberDataPoint{TimeUnixNano: epoch + at, Value: &metricpb.NumberDataPoint_AsInt{AsInt: v}, Attributes: []*commonpb.KeyValue{attr("rackfab.port", port)}}
	}
	q := &metricspb.ExportMetricsServiceRequest{ResourceMetrics: []*metricpb.ResourceMetrics{{Resource: node("s0"), ScopeMetrics: []*metricpb.ScopeMetrics{{Metrics: []*metricpb.Metric{
		{Name: "rackfab.port.queue", Unit: "By", Data: &metricpb.Metric_Gauge{Gauge: &metricpb.Gauge{DataPoints: []*metricpb.NumberDataPoint{point(10, 5, 1), point(20, 6, 1), point(10, 7, 2), {TimeUnixNano: epoch}}}}},
		{Name: "rackfab.port.sent", Unit: "By", Data: &metricpb.Metric_Sum{Sum: &metricpb.Sum{
			AggregationTemporality: metricpb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA, DataPoints: []*metricpb.NumberDataPoint{point(10, 100, 1)},
		}}},
		{Name: "rpc.duration", Data: &metricpb.Metric_Histogram{Histogram: &metricpb.Histogram{DataPoints: []*metricpb.HistogramDataPoint{{}}}}},
	}}}}}}
	// The call of Follow may still be on its way: what is sent until it answers is new each time.
	var first *rackfabv1.FollowResponse
	answers, failed := make(chan *rackfabv1.FollowResponse, 1), make(chan error, 1)
	go func() {
		r, err := follow.Recv()
		if err != nil {
			failed <- err
			return
		}
		answers <- r
	}()
	for first == nil {
		out, err := c.metrics.Export(t.Context(), q)
		if err != nil || out.GetPartialSuccess().GetRejectedDataPoints() != 2 ||
			out.GetPartialSuccess().GetErrorMessage() != "metric rackfab.port.queue: want a value at every point; metric rpc.duration: want a gauge or a sum" {
			t.Fatal(out, err)
		}
		select {
		case first = <-answers:
		case err := <-failed:
			t.Fatal(err)
		default:
		}
	}
	if len(first.GetSeries()) != 3 || !slices.Equal(first.GetSeries()[0].GetValues(), []float64{5, 6}) {
		t.Errorf("%v", first)
	}
	out, err := c.asks.QuerySeries(t.Context(), &rackfabv1.QuerySeriesRequest{Select: &rackfabv1.SeriesSelector{Metric: "rackfab.port.queue", Node: "s0", Port: proto.Int32(1)}})
	want := &rackfabv1.QuerySeriesResponse{Run: "a", Series: []*rackfabv1.Series{{
		Metric: "rackfab.port.queue", Unit: "By", Kind: rackfabv1.SeriesKind_SERIES_KIND_GAUGE, Node: "s0", Port: proto.Int32(1),
		TimesPs: []int64{10_000, 20_000}, Values: []float64{5, 6},
	}}}
	if diff := cmp.Diff(want, out, protocmp.Transform()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if p := counters(t, c).GetPoints(); p.GetStored() != 4 || p.GetReceived() != p.GetStored()+p.GetDuplicates()+p.GetRejected() {
		t.Errorf("%v", p)
	}
}

// A request that does not fit into the queue is refused with RetryInfo, and counted.
func TestAFullQueueRefuses(t *testing.T) {
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

func TestRequestsThatMakeNoSense(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	big := write(1, 0)
	big.Name = strings.Repeat("x", MaxMessage)
	if _, err := c.traces.Export(t.Context(), request(node("h0"), big)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message that is too large: %v", err)
	}
	if _, err := c.traces.Export(t.Context(), request(node("h0"), write(1, 0))); err != nil {
		t.Fatal(err)
	}
	for field, call := range map[string]func() error{
		"limit": func() error {
			_, err := c.asks.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Limit: maxTraces + 1})
			return err
		},
		"min_duration_ps": func() error {
			_, err := c.asks.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{MinDurationPs: -1})
			return err
		},
		"trace_id": func() error {
			_, err := c.asks.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: "xyz"})
			return err
		},
		"select.metric": func() error {
			_, err := c.asks.QuerySeries(t.Context(), &rackfabv1.QuerySeriesRequest{})
			return err
		},
		"group": func() error {
			_, err := c.asks.GetPercentiles(t.Context(), &rackfabv1.GetPercentilesRequest{Group: 99})
			return err
		},
	} {
		if v := serve.Violations(call()); v[field] == "" {
			t.Errorf("%s: %v", field, v)
		}
	}
	if _, err := c.asks.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Run: "b"}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
}

// What a collector has acknowledged is held after it was killed in the middle of
// writing, and what is delivered again is not stored twice.
func TestAcknowledgedSurvivesKill(t *testing.T) {
	data := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), dataVariable+"="+data)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var ready serve.Ready
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil {
		t.Fatalf("%q %v", line, err)
	}
	const clientCount, each, enough = 4, 50, 60
	var acknowledged atomic.Int64
	sent := make(chan []uint64, clientCount)
	for i := range clientCount {
		go func() {
			c := dial(t, ready.Address)
			var mine []uint64
			defer func() { sent <- mine }()
			for next := uint64(i) << 24; ; next += each {
				var spans []*tracepb.Span
				for k := range uint64(each) {
					spans = append(spans, write(next+k+1, int(k)))
				}
				if out, err := c.traces.Export(t.Context(), request(node("h0"), spans...)); err != nil || out.GetPartialSuccess() != nil {
					return
				}
				mine = append(mine, next)
				if acknowledged.Add(1) == enough {
					_ = child.Process.Kill() // SIGKILL, while the others write
				}
			}
		}()
	}
	var requests []uint64
	for range clientCount {
		requests = append(requests, <-sent...)
	}
	_ = child.Wait() // it was killed
	if len(requests) < enough {
		t.Fatalf("%d requests acknowledged", len(requests))
	}
	c, _, _ := start(t, Options{Data: data})
	before := counters(t, c).GetSpans()
	for _, next := range requests {
		for k := range uint64(each) {
			id := fmt.Sprintf("%x", fmt.Appendf(nil, "%016x", next+k+1))
			if got, err := c.asks.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: id}); err != nil || len(got.GetSpans()) != 1 {
				t.Fatalf("span %d was acknowledged: %v, %v", next+k+1, got, err)
			}
		}
		var spans []*tracepb.Span
		for k := range uint64(each) {
			spans = append(spans, write(next+k+1, int(k)))
		}
		if _, err := c.traces.Export(t.Context(), request(node("h0"), spans...)); err != nil {
			t.Fatal(err)
		}
	}
	after := counters(t, c).GetSpans()
	if after.GetStored() != before.GetStored() || after.GetDuplicates()-before.GetDuplicates() != int64(len(requests)*each) {
		t.Errorf("delivered again: %v, then %v", before, after)
	}
	if before.GetStored() < int64(len(requests)*each) || before.GetReceived() != before.GetStored()+before.GetDuplicates() {
		t.Errorf("%v after %d requests", before, len(requests))
	}
}

// What is received goes to another collector too, over gRPC, once it is stored.
func TestForward(t *testing.T) {
	there, address, _ := start(t, Options{Data: t.TempDir()})
	c, _, stop := start(t, Options{Data: t.TempDir(), Forward: address})
	for i := range 20 {
		if _, err := c.traces.Export(t.Context(), request(node("h0"), write(uint64(i+1), i))); err != nil {
			t.Fatal(err)
		}
	}
	stop() // sends what waits
	if s := counters(t, there).GetSpans(); s.GetStored() != 20 {
		t.Errorf("there: %v", s)
	}
	list, err := there.asks.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Flow: "F0", Limit: 1})
	if err != nil || len(list.GetTraces()) != 1 || list.GetTraces()[0].GetAttributes()[0].GetKey() != "rackfab.bytes" {
		t.Errorf("there: %v, %v", list, err)
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
			w.WriteHeader(http.StatusServiceUnavailable) // again
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
	f.put(request(node("h0"), write(1, 0)))
	f.put(&metricspb.ExportMetricsServiceRequest{})
	f.close()
	<-ended
	if spans.Load() != 2 || f.sent.Load() != 1 || f.dropped.Load() != 1 {
		t.Errorf("%d spans there, %d sent, %d dropped", spans.Load(), f.sent.Load(), f.dropped.Load())
	}
}

// A queue that is full drops, and counts what it drops.
func TestForwardIsBounded(t *testing.T) {
	f, err := newForwarder("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for range forwardRequests + 3 {
		f.put(request(node("h0"), write(1, 0), write(2, 0)))
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

// A folder is asked without a collector.
func TestStored(t *testing.T) {
	data := t.TempDir()
	c, _, stop := start(t, Options{Data: data})
	if _, err := c.traces.Export(t.Context(), request(node("h0"), write(1, 0))); err != nil {
		t.Fatal(err)
	}
	if _, err := Stored(t.Context(), data); err == nil || !strings.Contains(err.Error(), "open in another process") {
		t.Errorf("beside a collector: %v", err)
	}
	stop()
	address, err := Stored(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	stored := dial(t, address)
	if out, err := stored.asks.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: "3"}); err != nil || len(out.GetSpans()) != 1 {
		t.Error(out, err)
	}
	if _, err := stored.asks.CloseRun(t.Context(), &rackfabv1.CloseRunRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
}

// A follower that is slow misses answers, and is told how many.
func TestASlowFollowerMisses(t *testing.T) {
	h := newHub()
	f := &follower{q: &rackfabv1.FollowRequest{Traces: true}, out: make(chan *rackfabv1.FollowResponse, 1)}
	h.followers[f] = true
	d := []*store.Delivery{{Run: store.RunInfo{Run: "a"}, Spans: []store.Span{{ID: 1}}}}
	for range 3 {
		h.publish(h.prepare(d))
	}
	<-f.out
	h.publish(h.prepare(d))
	if out := <-f.out; out.GetMissed() != 2 || h.missed.Load() != 2 {
		t.Errorf("missed %d, in all %d", out.GetMissed(), h.missed.Load())
	}
}

func TestReasonsAreToldOnce(t *testing.T) {
	var r reasons
	for i := range 20 {
		r.add(fmt.Sprint(i / 2))
	}
	if have := strings.Count(r.String(), ";") + 1; have != maxReasons || !bytes.HasPrefix([]byte(r.String()), []byte("0; 1; 2")) {
		t.Error(r.String())
	}
}
