package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/testing/protocmp"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

var noon = time.Unix(1_800_000_000, 0)

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test may have closed it
	return s
}

func write(t *testing.T, s *Store, all ...*Delivery) {
	t.Helper()
	if err := s.Write(noon, all); err != nil {
		t.Fatal(err)
	}
}

func traceID(n int) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

func textValue(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

// get returns the trace of one GET: its root at h0, its span in a switch, and its span
// at r0.
func get(n int, flow string, start, duration int64) []Span {
	id := traceID(n)
	return []Span{
		{
			Trace: id, ID: 1, Name: "GET", Node: "h0", Service: "rackfab-nic", Flow: flow, Start: start, End: start + duration,
			Attributes: []*commonpb.KeyValue{{Key: "rackfab.message", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(n)}}}},
		},
		{
			Trace: id, ID: 2, Parent: 1, Name: "switch", Node: "s0", Service: "rackfab-switch", Flow: flow, Start: start + 10, End: start + 20,
			Attributes: []*commonpb.KeyValue{textValue("rackfab.direction", "forward")},
			Events:     []*tracepb.Span_Event{{Name: "mark", TimeUnixNano: uint64(start + 15), Attributes: []*commonpb.KeyValue{textValue("rackfab.queue", "3")}}},
		},
		{Trace: id, ID: 3, Parent: 1, Name: "respond", Node: "r0", Service: "rackfab-nic", Flow: flow, Start: start + 20, End: start + duration - 5, Error: "nak"},
	}
}

// gets returns a delivery of a run with n GETs of alternating flows; the i-th takes i+1
// us.
func gets(run string, n int) *Delivery {
	d := &Delivery{Run: RunInfo{Run: run, Scenario: "pair", Scheme: "pcn", Seed: 7, Epoch: 1e18}}
	for i := range n {
		d.Spans = append(d.Spans, get(i+1, fmt.Sprintf("F%d", i%2), int64(i)*1e6, int64(i+1)*1e6)...)
	}
	return d
}

func port(n int32) *int32 { return &n }

func queue(node string, p int32) *rackfabv1.Series {
	return &rackfabv1.Series{Metric: "rackfab.port.queue", Unit: "By", Kind: rackfabv1.SeriesKind_SERIES_KIND_GAUGE, Node: node, Port: port(p)}
}

// Write leaves its input as it is: it is also forwarded and sent to followers.
func TestWriteLeavesItsInput(t *testing.T) {
	spans := get(1, "F0", 0, 10)
	spans[0].Events = []*tracepb.Span_Event{{Name: "mark", TimeUnixNano: 5, Attributes: []*commonpb.KeyValue{textValue("rackfab.reason", "buffer")}}}
	write(t, open(t, t.TempDir(), Options{}), &Delivery{Run: RunInfo{Run: "a"}, Spans: spans})
	want := get(1, "F0", 0, 10)
	want[0].Events = []*tracepb.Span_Event{{Name: "mark", TimeUnixNano: 5, Attributes: []*commonpb.KeyValue{textValue("rackfab.reason", "buffer")}}}
	if diff := cmp.Diff(want, spans, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// All written data is read back, before and after the store is opened again.
func TestTraceRoundTrip(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	write(t, s, gets("a", 3))
	want := &rackfabv1.GetTraceResponse{
		Run: "a", TraceId: fmt.Sprintf("%x", traceID(2)),
		Spans: []*rackfabv1.Span{
			{
				SpanId: "0000000000000001", Name: "GET", Node: "h0", Service: "rackfab-nic", Flow: "F1", StartPs: 1e6, EndPs: 3e6,
				Attributes: []*rackfabv1.Attribute{{Key: "rackfab.message", Value: &rackfabv1.Attribute_Number{Number: 2}}},
			},
			{
				SpanId: "0000000000000002", ParentSpanId: "0000000000000001", Name: "switch", Node: "s0", Service: "rackfab-switch", Flow: "F1", StartPs: 1e6 + 10, EndPs: 1e6 + 20,
				Attributes: []*rackfabv1.Attribute{{Key: "rackfab.direction", Value: &rackfabv1.Attribute_Text{Text: "forward"}}},
				Events:     []*rackfabv1.SpanEvent{{Name: "mark", AtPs: 1e6 + 15, Attributes: []*rackfabv1.Attribute{{Key: "rackfab.queue", Value: &rackfabv1.Attribute_Text{Text: "3"}}}}},
			},
			{SpanId: "0000000000000003", ParentSpanId: "0000000000000001", Name: "respond", Node: "r0", Service: "rackfab-nic", Flow: "F1", StartPs: 1e6 + 20, EndPs: 3e6 - 5, Error: "nak"},
		},
	}
	for range 2 {
		have, err := s.GetTrace("", want.TraceId[:9])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		runs := s.Runs()
		if len(runs) != 1 {
			t.Fatal(runs)
		}
		wantRun := &rackfabv1.CollectedRun{
			Run: "a", Scenario: "pair", Scheme: "pcn", Seed: 7, UnsignedSeed: 7, EpochUnixNano: 1e18, FirstUnixNano: noon.UnixNano(), LastUnixNano: noon.UnixNano(),
			Traces: 3, Spans: 9, EndPs: 5e6, Nodes: []string{"h0", "r0", "s0"}, Flows: []string{"F0", "F1"},
		}
		if diff := cmp.Diff(wantRun, runs[0], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, Options{ReadOnly: true})
	}
}

// Repeated deliveries, whole or in part, are counted and not stored again.
func TestRepeatedDeliveriesAreStoredOnce(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	points := func(times ...int64) *Delivery {
		return &Delivery{Run: RunInfo{Run: "a"}, Points: []Points{{Series: queue("s0", 1), Times: times, Values: make([]float64, len(times))}}}
	}
	write(t, s, gets("a", 5))
	write(t, s, gets("a", 6))
	write(t, s, points(10, 20, 40), points(20, 30, 50))
	write(t, s, points(5, 10, 30))
	have := s.Totals()
	want := Totals{
		Spans:  Counts{Received: 33, Stored: 18, Duplicates: 15, Held: 18},
		Points: Counts{Received: 9, Stored: 6, Duplicates: 3, Held: 6},
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	out, err := s.QuerySeries(&rackfabv1.QuerySeriesRequest{Select: &rackfabv1.SeriesSelector{Metric: "rackfab.port.queue"}, Limit: 100})
	if err != nil || len(out.GetSeries()) != 1 || !slices.Equal(out.GetSeries()[0].GetTimesPs(), []int64{5, 10, 20, 30, 40, 50}) {
		t.Errorf("%v, %v", out, err)
	}
}

// A span may arrive before its root, and the root of a trace may never arrive.
func TestRootMayArriveLast(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	d, rest := gets("a", 2), gets("a", 2)
	d.Spans, rest.Spans = slices.Concat(d.Spans[1:3], d.Spans[4:]), rest.Spans[:1]
	write(t, s, d)
	write(t, s, rest)
	out, err := s.ListTraces(&rackfabv1.ListTracesRequest{Limit: 5})
	if err != nil || len(out.GetTraces()) != 1 || out.GetTraces()[0].GetSpans() != 3 {
		t.Errorf("%v, %v", out, err)
	}
	if tr, err := s.GetTrace("a", fmt.Sprintf("%x", traceID(2))); err != nil || len(tr.GetSpans()) != 2 {
		t.Errorf("%v, %v", tr, err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	fails := func(dir string, o Options, want string) {
		t.Helper()
		if _, err := Open(dir, o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	none := filepath.Join(dir, "none")
	fails(none, Options{ReadOnly: true}, "open store: stat "+none+": no such file or directory")
	fails(dir, Options{ReadOnly: true}, "open store: no collector has written to "+dir)
	s := open(t, dir, Options{})
	fails(dir, Options{}, "open store: "+dir+" is open in another process: query the collector that uses it")
	write(t, s, gets("a", 1))
	if _, err := s.ListTraces(&rackfabv1.ListTracesRequest{Run: "b"}); !errors.Is(err, ErrNotFound) || err.Error() != `run "b": not stored; stored runs: a` {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "000001.db")
	held, err := bbolt.Open(path, 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	fails(dir, Options{}, "open store "+dir+": "+path+": timeout") // a locked file is not damaged
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if runs := open(t, dir, Options{}).Runs(); len(runs) != 1 {
		t.Error(runs)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	fails(filepath.Join(dir, "file"), Options{}, "open store: mkdir "+filepath.Join(dir, "file")+": not a directory")
}
