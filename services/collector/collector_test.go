package collector

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// dataVariable is the environment variable that makes the test binary run a collector on
// the given folder.
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

// clients are the clients of a collector.
type clients struct {
	traces  tracespb.TraceServiceClient
	metrics metricspb.MetricsServiceClient
	api     rackfabv1.CollectorServiceClient
}

func dial(t *testing.T, address string) clients {
	t.Helper()
	conn, err := serve.DialAs(address, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // its server has stopped
	return clients{tracespb.NewTraceServiceClient(conn), metricspb.NewMetricsServiceClient(conn), rackfabv1.NewCollectorServiceClient(conn)}
}

// start runs a collector in this process until the end of the test or stop.
func start(t *testing.T, o Options) (c clients, address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o.Listen = serve.Loopback
	ready, wait, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	done := false
	stop = func() {
		if cancel(); !done {
			done = true
			if err := wait(); err != nil {
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

// node returns the resource of a node in run a.
func node(name string) *resourcepb.Resource {
	return &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
		attr("service.name", "rackfab-nic"), attr("service.instance.id", name), attr("rackfab.node", name), attr("rackfab.run", "a"),
		attr("rackfab.scenario", "pair"), attr("rackfab.scheme", "pcn"), attr("rackfab.seed", 7), attr("rackfab.epoch_unix_nano", epoch),
	}}
}

// write returns the span of a WRITE that starts at from, in ns, and takes a microsecond.
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
	out, err := c.api.GetCounters(t.Context(), &rackfabv1.GetCountersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Acknowledged data survives a kill of the collector in the middle of writing, and
// repeated deliveries are not stored twice.
func TestAcknowledgedSurvivesKill(t *testing.T) {
	data := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0]) // lives no longer than the test
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
	_ = child.Process.Kill() // if the clients gave up before that
	_ = child.Wait()         // it was killed
	if len(requests) < enough {
		t.Fatalf("%d requests acknowledged", len(requests))
	}
	c, _, _ := start(t, Options{Data: data})
	before := counters(t, c).GetSpans()
	for _, next := range requests {
		for k := range uint64(each) {
			id := fmt.Sprintf("%x", fmt.Appendf(nil, "%016x", next+k+1))
			if got, err := c.api.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: id}); err != nil || len(got.GetSpans()) != 1 {
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

// A folder can be queried without a collector.
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
	if out, err := stored.api.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: "3"}); err != nil || len(out.GetSpans()) != 1 {
		t.Error(out, err)
	}
	if _, err := stored.api.CloseRun(t.Context(), &rackfabv1.CloseRunRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
}

// A damaged run is logged in one line when the folder is opened, and counted; the
// collector starts.
func TestDamagedRunIsLoggedAndCounted(t *testing.T) {
	logged, data := logOf(t), t.TempDir()
	damaged := func(name string) string {
		t.Helper()
		path := filepath.Join(data, name)
		if err := os.WriteFile(path, []byte("no database"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	says := func(c clients, n int64, file string) {
		t.Helper()
		want := fmt.Sprintf("level=ERROR msg=\"a damaged run is left out\" file=%s lost=\"a run whose name cannot be read\" problem=\"invalid database\"\n", file)
		if line := <-logged; !strings.HasSuffix(line, want) {
			t.Errorf("logged %q, want %q", line, want)
		}
		if have := counters(t, c).GetRunsDamaged(); have != n {
			t.Errorf("%d damaged runs, want %d", have, n)
		}
	}
	first := damaged("000001.db")
	c, _, stop := start(t, Options{Data: data})
	says(c, 1, first+".damaged")
	if _, err := c.traces.Export(t.Context(), request(node("h0"), write(1, 0))); err != nil {
		t.Error(err)
	}
	stop()
	second := damaged("000003.db")
	address, err := Stored(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	says(dial(t, address), 2, second)
}

// logOf returns the log records from now on until the end of the test.
func logOf(t *testing.T) <-chan string {
	t.Helper()
	logged := make(chan string, 100)
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(writer(func(line []byte) { logged <- string(line) }), nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return logged
}

// writer is a function as an io.Writer.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// If the page stops before its collector, the error is logged at once; the collector
// goes on and returns the error at its end.
func TestFailingPageIsLoggedAtOnce(t *testing.T) {
	logged := logOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	broken := errors.New("broken")
	show := func(_ context.Context, l net.Listener, _ string) error { return errors.Join(broken, l.Close()) }
	ready, wait, err := Start(ctx, Options{Listen: serve.Loopback, Data: t.TempDir(), HTTP: serve.Loopback, Show: show})
	if err != nil {
		t.Fatal(err)
	}
	if line := <-logged; !strings.Contains(line, "the page is no longer served") || !strings.Contains(line, "error=broken") {
		t.Error(line)
	}
	if out, err := dial(t, ready.Address).traces.Export(t.Context(), request(node("h0"), write(1, 0))); err != nil || out.GetPartialSuccess() != nil {
		t.Error(out, err)
	}
	cancel()
	if err := wait(); !errors.Is(err, broken) {
		t.Errorf("ended with %v", err)
	}
}

// Show receives the collector's address and ends before the collector does; the
// collector returns its error.
func TestCollectorServesHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	shown := make(chan string, 1)
	show := func(ctx context.Context, l net.Listener, address string) error {
		shown <- address
		<-ctx.Done()
		return fmt.Errorf("shown: %w", l.Close())
	}
	ready, wait, err := Start(ctx, Options{Listen: serve.Loopback, Data: t.TempDir(), HTTP: serve.Loopback, Show: show})
	if err != nil {
		t.Fatal(err)
	}
	if address := <-shown; address != ready.Address {
		t.Errorf("Show received %s, the collector listens at %s", address, ready.Address)
	}
	second, waitSecond, err := Start(ctx, Options{Listen: ready.Address, Data: t.TempDir(), HTTP: ready.Page, AnyPort: true, Show: show})
	if err != nil {
		t.Fatal(err)
	}
	if <-shown; second.Address == ready.Address || second.Page == ready.Page || second.Page == "" {
		t.Errorf("two collectors are at %+v and %+v", ready, second)
	}
	cancel()
	for _, wait := range []func() error{wait, waitSecond} {
		if err := wait(); err == nil || !strings.HasPrefix(err.Error(), "shown: ") {
			t.Errorf("ended with %v", err)
		}
	}
	_, _, err = Start(t.Context(), Options{Listen: serve.Loopback, Data: t.TempDir(), HTTP: "127.0.0.1:99999", Show: show})
	if err == nil || !strings.HasPrefix(err.Error(), "listen for HTTP at 127.0.0.1:99999: ") {
		t.Errorf("invalid port: %v", err)
	}
}
