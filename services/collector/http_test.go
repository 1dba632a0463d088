package collector

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// startHTTP runs a collector that receives OTLP over HTTP, and returns the address.
func startHTTP(t *testing.T, o Options) (c clients, address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o.Listen, o.OTLPHTTP, o.Data = serve.Loopback, serve.Loopback, t.TempDir()
	ready, wait, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cancel(); wait() != nil {
			t.Error("the collector did not stop")
		}
	})
	if o.TLS != nil {
		return clients{}, ready.OTLPHTTP
	}
	return dial(t, ready.Address), ready.OTLPHTTP
}

// post sends a body and returns the answer with its body.
func post(t *testing.T, url, contentType, contentEncoding string, body []byte) (*http.Response, []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", contentType)
	if contentEncoding != "" {
		q.Header.Set("Content-Encoding", contentEncoding)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, text
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// base64Of returns an ID as protojson writes it.
func base64Of(id []byte) []byte {
	return fmt.Appendf(nil, "%q", base64.StdEncoding.EncodeToString(id))
}

// The same request in protobuf and in JSON, whose IDs are hexadecimal, is the same span:
// the second delivery is a repetition. The answer has the encoding of the request.
func TestEncodingsOverHTTP(t *testing.T) {
	c, address := startHTTP(t, Options{})
	q := request(node("h0"), write(1, 0))
	binary, err := proto.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	span := write(1, 0)
	text = bytes.Replace(text, base64Of(span.GetTraceId()), fmt.Appendf(nil, `"%x"`, span.GetTraceId()), 1)
	text = bytes.Replace(text, base64Of(span.GetSpanId()), fmt.Appendf(nil, `"%X"`, span.GetSpanId()), 1)
	text = bytes.Replace(text, []byte(`{`), []byte(`{"fieldOfALaterVersion": {"spanId": 7}, `), 1)
	for i, one := range []struct {
		contentType, contentEncoding string
		body                         []byte
	}{
		{"application/x-protobuf", "", binary},
		{"application/json", "", text},
		{"application/x-protobuf", "gzip", zipped(t, binary)},
		{"application/json; charset=utf-8", "gzip", zipped(t, text)},
	} {
		r, body := post(t, "http://"+address+"/v1/traces", one.contentType, one.contentEncoding, one.body)
		if got := r.Header.Get("Content-Type"); r.StatusCode != http.StatusOK || !strings.HasPrefix(one.contentType, got) {
			t.Errorf("%s %s: %s, Content-Type %s: %s", one.contentType, one.contentEncoding, r.Status, got, body)
		}
		if n := counters(t, c).GetSpans(); n.GetStored() != 1 || n.GetDuplicates() != int64(i) {
			t.Errorf("%s %s: spans %v", one.contentType, one.contentEncoding, n)
		}
	}
	if list, err := c.api.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Run: "a"}); err != nil || len(list.GetTraces()) != 1 {
		t.Errorf("traces of the run: %v, %v", list, err)
	}
}

// Invalid requests have the status that OTLP requires, and a google.rpc.Status in the
// encoding of the request. Invalid items are rejected in partial_success.
func TestInvalidRequestsOverHTTP(t *testing.T) {
	c, address := startHTTP(t, Options{})
	const inText, inBytes = "application/json", "application/x-protobuf"
	huge := make([]byte, MaxMessage+1)
	for _, one := range []struct {
		name, path, contentType, contentEncoding string
		body                                     []byte
		code                                     int
		want                                     string
	}{
		{"no signal", "/v1/logs", inText, "", []byte("{}"), 404, "/v1/logs: want /v1/traces or /v1/metrics"},
		{"no type", "/v1/traces", "", "", nil, 415, "want application/x-protobuf or application/json"},
		{"text", "/v1/traces", "text/plain", "", []byte("{}"), 415, `"text/plain"`},
		{"unknown encoding", "/v1/traces", inText, "zstd", []byte("{}"), 415, `Content-Encoding "zstd": want gzip`},
		{"no gzip", "/v1/traces", inText, "gzip", []byte("{}"), 400, "gzip"},
		{"cut gzip", "/v1/traces", inText, "gzip", zipped(t, []byte("{}"))[:12], 400, "read the request"},
		{"no protobuf", "/v1/metrics", inBytes, "", []byte{0xff}, 400, "proto"},
		{"no JSON", "/v1/traces", inText, "", []byte("{"), 400, "invalid JSON"},
		{"two messages", "/v1/traces", inText, "", []byte("{} {}"), 400, "text after the message"},
		{"another type", "/v1/traces", inText, "", []byte(`{"resourceSpans": 7}`), 400, "unexpected token 7"},
		{"an ID of no digits", "/v1/traces", inText, "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz"}]}]}]}`), 400, `traceId "xyz": want hexadecimal digits`},
		{"too large", "/v1/traces", inBytes, "", huge, 413, "more than 16777216 bytes"},
		{"too large once unzipped", "/v1/traces", inText, "gzip", zipped(t, huge), 413, "more than 16777216 bytes"},
	} {
		r, body := post(t, "http://"+address+one.path, one.contentType, one.contentEncoding, one.body)
		var s status.Status
		read := proto.Unmarshal
		if r.Header.Get("Content-Type") == inText {
			read = protojson.Unmarshal
		}
		if err := read(body, &s); err != nil || r.StatusCode != one.code || !strings.Contains(s.GetMessage(), one.want) {
			t.Errorf("%s: %s, %q, %v; want %d with %q", one.name, r.Status, s.GetMessage(), err, one.code, one.want)
		}
		if one.contentType == inText && r.Header.Get("Content-Type") != inText {
			t.Errorf("%s: the error is in %s", one.name, r.Header.Get("Content-Type"))
		}
	}
	r, err := http.Get("http://" + address + "/v1/traces")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %s, Allow %q", r.Status, r.Header.Get("Allow"))
	}
	bad := write(2, 0)
	bad.SpanId = nil
	data, err := proto.Marshal(request(node("h0"), write(1, 0), bad))
	if err != nil {
		t.Fatal(err)
	}
	r, body := post(t, "http://"+address+"/v1/traces", inBytes, "", data)
	var out tracespb.ExportTraceServiceResponse
	if err := proto.Unmarshal(body, &out); err != nil || r.StatusCode != 200 || out.GetPartialSuccess().GetRejectedSpans() != 1 || out.GetPartialSuccess().GetErrorMessage() == "" {
		t.Errorf("an invalid span: %s, %v, %v", r.Status, &out, err)
	}
	if n := counters(t, c).GetSpans(); n.GetReceived() != 2 || n.GetStored() != 1 || n.GetRejected() != 1 {
		t.Errorf("spans %v", n)
	}
}

// A request that the queue refuses is 429, and one that the store refuses is 503, both with
// the delay after which a client may try again. The queue is that of gRPC.
func TestRefusedRequestsOverHTTP(t *testing.T) {
	c := newCollector(nil, nil, 0)
	c.epochs = &epochs{}
	ask := func() *httptest.ResponseRecorder {
		q := httptest.NewRequest(http.MethodPost, "/v1/metrics", strings.NewReader("{}"))
		q.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		c.overHTTP().ServeHTTP(w, q)
		return w
	}
	for range queueRequests {
		if err := c.queue.put(&job{request: &metricspb.ExportMetricsServiceRequest{}, done: make(chan error, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(w *httptest.ResponseRecorder, code int, want string) {
		t.Helper()
		after, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if w.Code != code || err != nil || after < 1 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, Retry-After %q: %s; want %d with %q", w.Code, w.Header().Get("Retry-After"), w.Body, code, want)
		}
	}
	check(ask(), http.StatusTooManyRequests, "256 requests wait for the disk")
	for range queueRequests {
		<-c.queue.jobs
	}
	go func() { (<-c.queue.jobs).done <- errDisk }()
	check(ask(), http.StatusServiceUnavailable, errDisk.Error())
	c.queue.close()
	check(ask(), http.StatusServiceUnavailable, "the collector is stopping")
}

// With TLS, only members of the rack export over HTTP, nodes among them.
func TestHTTPWithTLS(t *testing.T) {
	dir := t.TempDir()
	if err := identity.Make(dir, []string{"h0"}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	load := func(member string) *identity.TLS {
		who, err := identity.Load(dir, member)
		if err != nil {
			t.Fatal(err)
		}
		return who
	}
	_, address := startHTTP(t, Options{TLS: load(identity.Collector)})
	ask := func(who *identity.TLS) error {
		config := load("h0").Client(identity.Collector)
		if who == nil {
			config.Certificates = nil
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		defer client.CloseIdleConnections()
		r, err := client.Post("https://"+address+"/v1/traces", "application/json", strings.NewReader("{}"))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return errors.New(r.Status)
		}
		return nil
	}
	if err := ask(load("h0")); err != nil {
		t.Errorf("a node: %v", err)
	}
	if err := ask(nil); err == nil {
		t.Error("a client without a certificate is accepted")
	}
	if r, err := http.Get("http://" + address + "/v1/traces"); err == nil {
		_ = r.Body.Close()
		if r.StatusCode == http.StatusOK {
			t.Error("plain HTTP is accepted")
		}
	}
}
