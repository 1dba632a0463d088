package collector

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// exactly returns a request of n bytes on the wire: one span with a long name.
func exactly(t *testing.T, n int) *tracespb.ExportTraceServiceRequest {
	t.Helper()
	span := write(1, 0)
	q := request(node("h0"), span)
	span.Name = strings.Repeat("x", n-1000)
	span.Name += strings.Repeat("x", n-proto.Size(q))
	if have := proto.Size(q); have != n {
		t.Fatalf("%d bytes, want %d", have, n)
	}
	return q
}

// TRUST-9: A request of exactly the limit is accepted, and one of a byte more refused, in each
// encoding, compressed or not.
func TestLimitsOfOTLP(t *testing.T) {
	c, address := startHTTP(t, Options{})
	for over := range 2 {
		q := exactly(t, MaxMessage+over)
		data, err := proto.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		wantCode, wantStatus := []codes.Code{codes.OK, codes.ResourceExhausted}[over], []int{http.StatusOK, http.StatusRequestEntityTooLarge}[over]
		for name, how := range map[string][]grpc.CallOption{"plain": nil, "gzip": {grpc.UseCompressor("gzip")}} {
			if _, err := c.traces.Export(t.Context(), q, how...); status.Code(err) != wantCode {
				t.Errorf("gRPC, %s, %d bytes more than the limit: %v, want %v", name, over, err, wantCode)
			}
		}
		for name, body := range map[string][]byte{"": data, "gzip": zipped(t, data)} {
			if r, text := post(t, "http://"+address+"/v1/traces", "application/x-protobuf", name, body); r.StatusCode != wantStatus {
				t.Errorf("HTTP, %q, %d bytes more than the limit: %s %s, want %d", name, over, r.Status, text, wantStatus)
			}
		}
		text := append([]byte("{}"), bytes.Repeat([]byte(" "), MaxMessage-2+over)...)
		for name, body := range map[string][]byte{"": text, "gzip": zipped(t, text)} {
			if r, answer := post(t, "http://"+address+"/v1/traces", "application/json", name, body); r.StatusCode != wantStatus {
				t.Errorf("JSON, %q, %d bytes more than the limit: %s %s, want %d", name, over, r.Status, answer, wantStatus)
			}
		}
	}
}

// A request above the limit takes at most twice the limit of memory, whatever it would be
// once decompressed: of known length, of unknown length, compressed, and over gRPC.
func TestRefusedRequestsTakeLittleMemory(t *testing.T) {
	_, address, _ := start(t, Options{Data: t.TempDir()})
	_, overHTTP := startHTTP(t, Options{})
	huge := make([]byte, 8*MaxMessage)
	bomb := zipped(t, huge)
	traces := "http://" + overHTTP + "/v1/traces"
	for _, tt := range []struct {
		name, url string
		client    *http.Client
		body      io.Reader
		header    http.Header
		want      string
	}{
		{"length", traces, http.DefaultClient, bytes.NewReader(huge), http.Header{"Content-Type": {"application/x-protobuf"}}, "413"},
		{"no length", traces, http.DefaultClient, io.MultiReader(bytes.NewReader(huge)), http.Header{"Content-Type": {"application/x-protobuf"}}, "413"},
		{"bomb", traces, http.DefaultClient, bytes.NewReader(bomb), http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"gzip"}}, "413"},
		{"bomb of JSON", traces, http.DefaultClient, bytes.NewReader(bomb), http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, "413"},
		{"bomb over gRPC", exportURL(address), overHTTP2(t), bytes.NewReader(framed(bomb)), calls.Clone(), "8"},
	} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, tt.body)
		if err != nil {
			t.Fatal(err)
		}
		q.Header = tt.header
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := tt.client.Do(q)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		_, _ = io.Copy(io.Discard, r.Body) // the server may close the connection
		_ = r.Body.Close()
		runtime.ReadMemStats(&after)
		code := r.Header.Get("Grpc-Status") + r.Trailer.Get("Grpc-Status")
		if code == "" {
			code = r.Status[:3]
		}
		n := after.TotalAlloc - before.TotalAlloc
		if code != tt.want || n > 2*MaxMessage {
			t.Errorf("%s: status %s, %d bytes allocated; want %s and at most %d", tt.name, code, n, tt.want, 2*MaxMessage)
		}
		t.Logf("%s: %d bytes allocated, %.2f of the limit", tt.name, n, float64(n)/MaxMessage)
	}
}

// calls is the header of calls of gRPC with compressed requests.
var calls = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "Grpc-Encoding": {"gzip"}}

func exportURL(address string) string {
	return "http://" + address + tracespb.TraceService_Export_FullMethodName
}

// framed returns a compressed message as gRPC frames it.
func framed(zipped []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(zipped))), zipped...)
}

// overHTTP2 returns a client that calls gRPC with messages that are compressed already.
func overHTTP2(t *testing.T) *http.Client {
	t.Helper()
	only := &http.Protocols{}
	only.SetUnencryptedHTTP2(true)
	c := &http.Client{Transport: &http.Transport{Protocols: only}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// A body of any size within the limit is read completely, at no more than twice its
// size of memory.
func TestReadAll(t *testing.T) {
	var all atomic.Int64
	for _, n := range []int{0, 1, readBlock - 1, readBlock, readBlock + 1, 5*readBlock + 7} {
		want := bytes.Repeat([]byte("ab"), n)[:n]
		if got, err := readAll(bytes.NewReader(want), n, &memory{all: &all}); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: read %d, %v", n, len(got), err)
		}
		if n > 0 {
			if _, err := readAll(bytes.NewReader(want), n-1, &memory{all: &all}); err == nil {
				t.Errorf("%d bytes read beyond the limit", n)
			}
		}
	}
}

// Clients whose bodies fill the memory for all of them get 429, to try again, and others
// are served once they have ended.
func TestBodiesAreLimitedTogether(t *testing.T) {
	c := newCollector(nil, nil, 0)
	c.epochs = &epochs{}
	go func() {
		for j := range c.queue.jobs {
			j.done <- nil
		}
	}()
	ask := func() *httptest.ResponseRecorder {
		q := httptest.NewRequest(http.MethodPost, "/v1/traces", strings.NewReader("{}"))
		q.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		c.overHTTP().ServeHTTP(w, q)
		return w
	}
	others := memory{all: &c.bodies}
	if err := others.reserve(maxBodies - readBlock + 1); err != nil {
		t.Fatal(err)
	}
	if w := ask(); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("full: %d %s", w.Code, w.Body)
	}
	if others.release(); c.bodies.Load() != 0 {
		t.Errorf("%d bytes are not released", c.bodies.Load())
	}
	c.bodies.Store(maxBodies - readBlock)
	if w := ask(); w.Code != http.StatusOK {
		t.Errorf("a block is free: %d %s", w.Code, w.Body)
	}
	c.queue.close()
}
