package collector

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// emptySpans returns a request with n spans of nothing, of 2 bytes each.
func emptySpans(n int) []byte {
	wrap := func(tag byte, inner []byte) []byte {
		size := len(inner)
		out := []byte{tag, byte(size) | 0x80, byte(size>>7) | 0x80, byte(size>>14) | 0x80, byte(size >> 21)}
		return append(out, inner...)
	}
	return wrap(0x0a, wrap(0x12, bytes.Repeat([]byte{0x12, 0}, n)))
}

// A request with as many messages as permitted is decoded, and one with another one is not.
func TestItemsAreLimited(t *testing.T) {
	const wrappers = 2 // resource and scope
	for over := range 2 {
		data := emptySpans(maxItems - wrappers + over)
		var q tracespb.ExportTraceServiceRequest
		err := checkItems(data, &q)
		if errors.Is(err, errItems) != (over > 0) || over == 0 && err != nil {
			t.Errorf("%d above the limit: %v", over, err)
		}
		if err := proto.Unmarshal(data, &q); err != nil || len(q.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()) != maxItems-wrappers+over {
			t.Fatalf("the test's request: %v", err)
		}
	}
	deep := []byte{}
	for range 2 * maxDepth { // values: an array of values
		deep = append([]byte{0x2a, byte(len(deep)+2) & 0x7f, 0x0a, byte(len(deep)) & 0x7f}, deep...)
		if len(deep) > 120 {
			break
		}
	}
	if n := countItems(deep, node("h0").GetAttributes()[0].GetValue().ProtoReflect().Descriptor(), 20, maxItems); n >= 0 {
		t.Errorf("messages in each other: %d left", n)
	}
}

// TRUST-9: A compressed request of empty spans, which would take 2.4 GB once decoded, is refused
// over gRPC and HTTP, in protobuf and JSON, with at most twice the limit of memory and the code
// of a limit.
func TestExpandingRequestsAreRefused(t *testing.T) {
	_, address := startHTTP(t, Options{})
	_, overGRPC, _ := start(t, Options{Data: t.TempDir()})
	binary := zipped(t, emptySpans(MaxMessage/2-8))
	text := zipped(t, []byte(`{"resourceSpans":[`+strings.Repeat("{},", MaxMessage/3-10)+`{}]}`))
	for _, tt := range []struct {
		name string
		send func() (code, answer string)
		want string
	}{
		{"protobuf", func() (string, string) { return postZipped(t, address, "application/x-protobuf", binary) }, "413"},
		{"JSON", func() (string, string) { return postZipped(t, address, "application/json", text) }, "413"},
		{"gRPC", func() (string, string) { return exportZipped(t, overGRPC, binary) }, "8"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		code, answer := tt.send()
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		if code != tt.want || !strings.Contains(answer, errItems.Error()) {
			t.Errorf("%s: %s %q, want %s with %q", tt.name, code, answer, tt.want, errItems)
		}
		const own = MaxMessage / 32 // of the client and of the connection
		if n > 2*MaxMessage+own {
			t.Errorf("%s: %d bytes allocated, want at most %d", tt.name, n, 2*MaxMessage+own)
		}
		t.Logf("%s: %d bytes allocated, %.2f of the limit", tt.name, n, float64(n)/MaxMessage)
	}
}

func postZipped(t *testing.T, address, kind string, body []byte) (code, answer string) {
	t.Helper()
	r, text := post(t, "http://"+address+"/v1/traces", kind, "gzip", body)
	return r.Status[:3], string(text)
}

// exportZipped calls the receiver of traces with a compressed message, without decoding it first.
func exportZipped(t *testing.T, address string, body []byte) (code, answer string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, exportURL(address), bytes.NewReader(framed(body)))
	if err != nil {
		t.Fatal(err)
	}
	q.Header = calls.Clone()
	r, err := overHTTP2(t).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, r.Body) // then there are trailers
	_ = r.Body.Close()
	answer, err = url.PathUnescape(r.Header.Get("Grpc-Message") + r.Trailer.Get("Grpc-Message"))
	if err != nil {
		t.Fatal(err)
	}
	return r.Header.Get("Grpc-Status") + r.Trailer.Get("Grpc-Status"), answer
}
