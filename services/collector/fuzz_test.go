package collector

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// fuzzed returns a collector that writes to a store in a temporary folder.
func fuzzed(f *testing.F) *collector {
	f.Helper()
	s, err := store.Open(f.TempDir(), store.Options{MaxSize: 64 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	c := newCollector(s, nil, 64<<20)
	go c.queue.work(c.write, c.forward.put)
	f.Cleanup(c.queue.close)
	return c
}

// Bodies of any bytes, of each signal, encoding and compression, are stored or refused
// with a status of OTLP.
func FuzzOTLP(f *testing.F) {
	binary, err := proto.Marshal(request(node("h0"), write(1, 0)))
	if err != nil {
		f.Fatal(err)
	}
	text, err := protojson.Marshal(request(node("h0"), write(2, 7)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(binary, true, false)
	f.Add(text, true, true)
	f.Add([]byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{"asDouble":1,"timeUnixNano":"1577836800000000000"}]}},{"name":"b","sum":{"dataPoints":[{"asInt":"7"}]}}]}]}]}`), false, true)
	f.Add([]byte{10, 0, 10, 2, 18, 0}, false, false)
	h := fuzzed(f).overHTTP()
	f.Fuzz(func(t *testing.T, body []byte, traces, inText bool) {
		at, kind := "/v1/metrics", inProtobuf.name
		if traces {
			at = "/v1/traces"
		}
		if inText {
			kind = inJSON.name
		}
		q := httptest.NewRequest(http.MethodPost, at, bytes.NewReader(body))
		q.Header.Set("Content-Type", kind)
		if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
			q.Header.Set("Content-Encoding", "gzip")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// Requests of any bytes, to each unary method of CollectorService over a store with a run, have
// an answer or an error with a known code.
func FuzzCalls(f *testing.F) {
	c := fuzzed(f)
	if _, err := (traceReceiver{collector: c}).Export(withSize(f.Context(), 1), request(node("h0"), write(1, 0), write(2, 5))); err != nil {
		f.Fatal(err)
	}
	s := &service{store: c.store, collector: c}
	for i := range rackfabv1.CollectorService_ServiceDesc.Methods {
		f.Add(uint8(i), []byte("\x0a\x01a"))
		f.Add(uint8(i), []byte{})
	}
	f.Fuzz(func(t *testing.T, method uint8, data []byte) {
		methods := rackfabv1.CollectorService_ServiceDesc.Methods
		_, err := methods[int(method)%len(methods)].Handler(s, t.Context(), func(q any) error { return proto.Unmarshal(data, q.(proto.Message)) }, nil)
		if status.Code(err) == codes.Internal {
			t.Errorf("method %d: %v", method, err)
		}
	})
}

// Messages of any bytes become deliveries of valid items and counts of the rest.
func FuzzDeliveries(f *testing.F) {
	binary, err := proto.Marshal(request(node("h0"), write(1, 0)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(binary)
	f.Fuzz(func(t *testing.T, data []byte) {
		e := &epochs{stored: func(string) (int64, bool) { return 0, false }, now: map[string]int64{}}
		var spans tracespb.ExportTraceServiceRequest
		var points metricspb.ExportMetricsServiceRequest
		if proto.Unmarshal(data, &spans) == nil {
			all, _ := e.spans(&spans)
			check(t, all)
		}
		if proto.Unmarshal(data, &points) == nil {
			all, _ := e.points(&points)
			check(t, all)
		}
	})
}

// check reports deliveries whose counts are impossible.
func check(t *testing.T, all []*store.Delivery) {
	t.Helper()
	for _, d := range all {
		if spans, points := d.Size(); spans < 0 || points < 0 || d.Rejected.Spans < 0 || d.Rejected.Points < 0 {
			t.Errorf("%d spans, %d points, rejected %+v", spans, points, d.Rejected)
		}
	}
}
