package collector

import (
	"bytes"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"

	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/services/internal/serve"
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

// A compressed request of empty spans, which would take 2.4 GB once decoded, is refused over
// gRPC and HTTP, in protobuf and JSON, before that.
func TestExpandingRequestsAreRefused(t *testing.T) {
	_, address := startHTTP(t, Options{})
	_, overGRPC, _ := start(t, Options{Data: t.TempDir()})
	binary := emptySpans(MaxMessage/2 - 8)
	text := []byte(`{"resourceSpans":[` + strings.Repeat("{},", MaxMessage/3-10) + `{}]}`)
	conn, err := serve.DialAs(overGRPC, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	limit := func(name string, send func() string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answer := send()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4*MaxMessage || !strings.Contains(answer, errItems.Error()) {
			t.Errorf("%s: %d bytes allocated, %q", name, n, answer)
		} else {
			t.Logf("%s: %d bytes allocated, %.2f of the limit", name, n, float64(n)/MaxMessage)
		}
	}
	for name, body := range map[string][]byte{"application/x-protobuf": zipped(t, binary), "application/json": zipped(t, text)} {
		limit(name, func() string {
			r, answer := post(t, "http://"+address+"/v1/traces", name, "gzip", body)
			if r.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %s", name, r.Status)
			}
			return string(answer)
		})
	}
	var q tracespb.ExportTraceServiceRequest
	q.ProtoReflect().SetUnknown(binary) // on the wire, these are the bytes
	limit("gRPC", func() string {
		return conn.Invoke(t.Context(), tracespb.TraceService_Export_FullMethodName, &q, &tracespb.ExportTraceServiceResponse{}).Error()
	})
}
