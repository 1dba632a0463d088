package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/collector/store"
)

// content is what the store of a run has.
type content struct {
	run    *rackfabv1.CollectedRun
	traces map[string]*rackfabv1.GetTraceResponse
	series []*rackfabv1.Series // rackfab.port.paused
}

// spans calls do with every span.
func (s *content) spans(do func(trace string, span *rackfabv1.Span)) {
	for _, one := range s.traces {
		for _, span := range one.GetSpans() {
			do(one.GetTraceId(), span)
		}
	}
}

// readStore reads the latest run in the folder of a run.
func readStore(t *testing.T, dir string) *content {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "telemetry"), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	out := &content{run: db.Runs()[0], traces: map[string]*rackfabv1.GetTraceResponse{}}
	list, err1 := db.ListTraces(&rackfabv1.ListTracesRequest{Limit: 100_000})
	paused, err2 := db.QuerySeries(&rackfabv1.QuerySeriesRequest{Select: &rackfabv1.SeriesSelector{Metric: "rackfab.port.paused"}, Limit: 1_000_000})
	errs := []error{err1, err2}
	for _, one := range list.GetTraces() {
		whole, err := db.GetTrace(one.GetRun(), one.GetTraceId())
		out.traces[one.GetTraceId()], errs = whole, append(errs, err)
	}
	out.series = paused.GetSeries()
	if err := errors.Join(append(errs, db.Close())...); err != nil {
		t.Fatal(err)
	}
	return out
}

// TOOL-1, TOOL-2: the files that `rackfab traces` writes for other programs have every span of
// the store once, of each name, obey the rules of their formats, and overwrite no file.
func TestTraceFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, exec.Command(program, "run", "pcn-16to2", "--bus", "memory", "--scheme", "pcn", "--duration", "2ms", "--telemetry", "--sample-ratio", "0.2", "--output", dir))
	want := readStore(t, dir)
	if len(want.traces) < 10 || len(want.series) == 0 {
		t.Fatalf("%d traces and %d series of pauses", len(want.traces), len(want.series))
	}
	names := map[string]bool{}
	want.spans(func(_ string, s *rackfabv1.Span) { names[s.GetName()] = true })
	for _, name := range []string{"WRITE", "data", "switch", "wire", "receive", "notify"} {
		if !names[name] {
			t.Errorf("no span %s among %v", name, names)
		}
	}
	write := func(format string) []byte {
		name := filepath.Join(t.TempDir(), format)
		traces := func() *exec.Cmd {
			return exec.Command(program, "traces", "--data", dir, "--format", format, "--output", name)
		}
		must(t, traces())
		if out, err := traces().CombinedOutput(); err == nil || !strings.Contains(string(out), "exists") {
			t.Errorf("%s a second time: %v %s", format, err, out)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	t.Run("chrome", func(t *testing.T) { checkChrome(t, write("chrome"), want) })
	t.Run("jaeger", func(t *testing.T) { checkJaeger(t, write("jaeger"), want) })
	t.Run("otlp-json", func(t *testing.T) { checkOTLP(t, write("otlp-json"), want) })
}

// strictly decodes JSON without unknown fields and without a second value.
func strictly(t *testing.T, text []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatal("there is more than one value in the file")
	}
}

// checkJaeger checks a file against the store. The fields are those that Jaeger's user
// interface reads: TraceResponse of its src/types.
func checkJaeger(t *testing.T, text []byte, want *content) {
	type tag struct {
		Key, Type string
		Value     any
	}
	var f struct {
		Data []struct {
			TraceID string
			Spans   []struct {
				TraceID, SpanID, OperationName, ProcessID string
				References                                []struct{ RefType, TraceID, SpanID string }
				StartTime, Duration                       uint64 // whole us
				Tags                                      []tag
				Logs                                      []struct {
					Timestamp uint64
					Fields    []tag
				}
			}
			Processes map[string]struct {
				ServiceName string
				Tags        []tag
			}
		}
	}
	strictly(t, text, &f)
	type place struct {
		name, node, parent string
		start, took        uint64
		events             int
	}
	have, wanted := map[string]place{}, map[string]place{}
	spans := 0
	for _, trace := range f.Data {
		for _, s := range trace.Spans {
			p := place{s.OperationName, trace.Processes[s.ProcessID].ServiceName, "", s.StartTime, s.Duration, len(s.Logs)}
			for _, r := range s.References {
				if r.RefType != "CHILD_OF" || r.TraceID != trace.TraceID || s.TraceID != trace.TraceID {
					t.Errorf("%v", s)
				}
				p.parent = r.SpanID
			}
			spans++
			have[trace.TraceID+s.SpanID] = p
		}
	}
	epoch := uint64(want.run.GetEpochUnixNano()) / 1000
	want.spans(func(trace string, s *rackfabv1.Span) {
		start := epoch + uint64(s.GetStartPs())/1e6
		wanted[trace+s.GetSpanId()] = place{s.GetName(), s.GetNode(), s.GetParentSpanId(), start, epoch + uint64(s.GetEndPs())/1e6 - start, len(s.GetEvents())}
	})
	if diff := cmp.Diff(wanted, have, cmp.AllowUnexported(place{})); diff != "" || spans != len(wanted) {
		t.Errorf("%d spans, want %d\n%s", spans, len(wanted), diff)
	}
}

// checkOTLP decodes a file as the OTLP specification says, sends it to a new collector,
// and compares the stores.
func checkOTLP(t *testing.T, text []byte, want *content) {
	started, wait, err := collector.Start(t.Context(), collector.Options{Listen: "127.0.0.1:0", Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wait() }) // the context has ended
	conn, err := grpc.NewClient(started.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for line := range bytes.Lines(text) {
		q := &tracespb.ExportTraceServiceRequest{}
		if err := protojson.Unmarshal(inBase64(t, line), q); err != nil {
			t.Fatal(err)
		}
		out, err := tracespb.NewTraceServiceClient(conn).Export(t.Context(), q)
		if err != nil || out.GetPartialSuccess().GetRejectedSpans() != 0 {
			t.Fatal(out, err)
		}
	}
	api := rackfabv1.NewCollectorServiceClient(conn)
	runs, err := api.ListRuns(t.Context(), &rackfabv1.ListRunsRequest{})
	if err != nil || len(runs.GetRuns()) != 1 {
		t.Fatal(runs, err)
	}
	if r := runs.GetRuns()[0]; r.GetRun() != want.run.GetRun() || r.GetSpans() != want.run.GetSpans() || r.GetScheme() != "pcn" || r.GetSeed() != want.run.GetSeed() {
		t.Errorf("have %v\nwant %v", r, want.run)
	}
	for id, trace := range want.traces {
		have, err := api.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: id})
		if diff := cmp.Diff(trace, have, protocmp.Transform()); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	}
}

// inBase64 checks that IDs are in hexadecimal, and replaces them by base64, as the JSON of
// protobuf has them.
func inBase64(t *testing.T, text []byte) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{"traceId": 16, "spanId": 8, "parentSpanId": 8}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for key, one := range v {
				if size := ids[key]; size > 0 {
					b, err := hex.DecodeString(one.(string))
					if err != nil || len(b) != size {
						t.Fatalf("%s: %v: want %d bytes in hexadecimal", key, one, size)
					}
					v[key] = base64.StdEncoding.EncodeToString(b)
				}
				if strings.Contains(key, "_") {
					t.Errorf("%s: want lowerCamelCase", key)
				}
				walk(one)
			}
		}
	}
	walk(v)
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
