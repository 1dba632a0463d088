package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// get is the trace of one GET: its root at h0, its stay in a switch, what r0 did.
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

// gets is a delivery of a run with n GETs of alternating flows; the i-th lasts i+1 us.
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

// All that was written is read back, before and after the store is opened again.
func TestATraceIsReadBack(t *testing.T) {
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
		runs, err := s.Runs()
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		wantRun := &rackfabv1.CollectedRun{
			Run: "a", Scenario: "pair", Scheme: "pcn", Seed: 7, EpochUnixNano: 1e18, FirstUnixNano: noon.UnixNano(), LastUnixNano: noon.UnixNano(),
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

func TestTracesAreListed(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	write(t, s, gets("a", 10))
	tests := []struct {
		name string
		q    *rackfabv1.ListTracesRequest
		want []int // the messages
		more bool
	}{
		{"slowest", &rackfabv1.ListTracesRequest{Limit: 3}, []int{10, 9, 8}, true},
		{"slowest of a flow", &rackfabv1.ListTracesRequest{Flow: "F0", Limit: 3}, []int{9, 7, 5}, true},
		{"latest", &rackfabv1.ListTracesRequest{Order: rackfabv1.TraceOrder_TRACE_ORDER_LATEST, Limit: 2, Offset: 1}, []int{9, 8}, true},
		{"duration range", &rackfabv1.ListTracesRequest{MinDurationPs: 4e6, MaxDurationPs: 6e6, Limit: 10}, []int{6, 5, 4}, false},
		{"time range", &rackfabv1.ListTracesRequest{FromPs: 2e6, ToPs: 4e6, Limit: 10}, []int{4, 3}, false},
		{"time range, latest, of a flow", &rackfabv1.ListTracesRequest{Order: rackfabv1.TraceOrder_TRACE_ORDER_LATEST, Flow: "F0", FromPs: 1e6, ToPs: 5e6, Limit: 10}, []int{5, 3}, false},
		{"node of a child", &rackfabv1.ListTracesRequest{Node: "s0", Limit: 1}, []int{10}, true},
		{"node that only sent", &rackfabv1.ListTracesRequest{Node: "h0", Flow: "F1", Limit: 1}, []int{10}, true},
		{"unknown node", &rackfabv1.ListTracesRequest{Node: "s9", Limit: 1}, nil, false},
		{"name", &rackfabv1.ListTracesRequest{Name: "switch", Limit: 1}, nil, false},
		{"attributes of different spans", &rackfabv1.ListTracesRequest{Attributes: []*rackfabv1.AttributeMatch{
			{Key: "rackfab.message", Value: "4"}, {Key: "rackfab.direction", Value: "forward"},
		}, Limit: 5}, []int{4}, false},
		{"attribute that no span has", &rackfabv1.ListTracesRequest{Attributes: []*rackfabv1.AttributeMatch{{Key: "rackfab.direction", Value: "back"}}, Limit: 5}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := s.ListTraces(tt.q)
			if err != nil {
				t.Fatal(err)
			}
			var have []int
			for _, tr := range out.GetTraces() {
				have = append(have, int(tr.GetAttributes()[0].GetNumber()))
				if tr.GetSpans() != 3 || tr.GetDurationPs() != int64(have[len(have)-1])*1e6 {
					t.Errorf("%+v", tr)
				}
			}
			if !slices.Equal(have, tt.want) || out.GetMore() != tt.more {
				t.Errorf("messages %v, more %v; want %v, %v", have, out.GetMore(), tt.want, tt.more)
			}
		})
	}
}

// What is delivered again, whole or in part, is counted and not stored again.
func TestADeliveryThatComesAgainIsStoredOnce(t *testing.T) {
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

// A span that comes before its root, and a trace whose root never comes.
func TestTheRootMayComeLast(t *testing.T) {
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

func TestPercentiles(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	write(t, s, gets("a", 2000), gets("b", 1))
	out, err := s.GetPercentiles(&rackfabv1.GetPercentilesRequest{Runs: []string{"a"}})
	want := &rackfabv1.GetPercentilesResponse{Rows: []*rackfabv1.Percentiles{
		{Run: "a", Scheme: "pcn", Flow: "F0", Count: 1000, MinPs: 1e6, P50Ps: 999e6, P90Ps: 1799e6, P99Ps: 1979e6, P999Ps: 1997e6, MaxPs: 1999e6},
		{Run: "a", Scheme: "pcn", Flow: "F1", Count: 1000, MinPs: 2e6, P50Ps: 1000e6, P90Ps: 1800e6, P99Ps: 1980e6, P999Ps: 1998e6, MaxPs: 2000e6},
	}}
	if diff := cmp.Diff(want, out, protocmp.Transform()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	out, err = s.GetPercentiles(&rackfabv1.GetPercentilesRequest{Runs: []string{"*"}, Group: rackfabv1.PercentileGroup_PERCENTILE_GROUP_SCHEME})
	if err != nil || len(out.GetRows()) != 1 || out.GetRows()[0].GetCount() != 2001 {
		t.Error(out, err)
	}
	out, err = s.GetPercentiles(&rackfabv1.GetPercentilesRequest{Group: rackfabv1.PercentileGroup_PERCENTILE_GROUP_NAME, Name: "GET"})
	if err != nil || len(out.GetRows()) != 1 || out.GetRows()[0].GetRun() != "b" || out.GetRows()[0].GetName() != "GET" {
		t.Error(out, err)
	}
}

func TestSeriesAreFolded(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	var times []int64
	var values []float64
	for i := range 1000 {
		times, values = append(times, int64(i)*10), append(values, float64(i)-0.5)
	}
	write(t, s, &Delivery{Run: RunInfo{Run: "a"}, Points: []Points{
		{Series: queue("s1", 2), Times: times, Values: values},
		{Series: queue("s0", 1), Times: times[:3], Values: []float64{3, -7, 1 << 40}},
	}})
	ask := func(q *rackfabv1.QuerySeriesRequest) *rackfabv1.QuerySeriesResponse {
		t.Helper()
		if q.Select == nil {
			q.Select = &rackfabv1.SeriesSelector{Metric: "rackfab.port.queue", Node: "s1"}
		}
		if q.Limit == 0 {
			q.Limit = 1e6
		}
		out, err := s.QuerySeries(q)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := ask(&rackfabv1.QuerySeriesRequest{Select: &rackfabv1.SeriesSelector{}})
	if len(all.Series) != 2 || all.Series[0].Node != "s0" || !slices.Equal(all.Series[0].Values, []float64{3, -7, 1 << 40}) || !slices.Equal(all.Series[1].Values, values) {
		t.Errorf("%v", all)
	}
	for fold, want := range map[rackfabv1.Fold][]float64{
		rackfabv1.Fold_FOLD_UNSPECIFIED: {598.5, 628.5}, // of a gauge the largest
		rackfabv1.Fold_FOLD_MAX:         {598.5, 628.5},
		rackfabv1.Fold_FOLD_LAST:        {598.5, 628.5},
		rackfabv1.Fold_FOLD_MIN:         {569.5, 599.5},
		rackfabv1.Fold_FOLD_SUM:         {(569.5 + 598.5) * 15, (599.5 + 628.5) * 15},
		rackfabv1.Fold_FOLD_MEAN:        {584, 614},
	} {
		have := ask(&rackfabv1.QuerySeriesRequest{FromPs: 5700, ToPs: 6300, StepPs: 300, Fold: fold}).Series[0]
		if !slices.Equal(have.TimesPs, []int64{5700, 6000}) || !slices.Equal(have.Values, want) {
			t.Errorf("%v: %v %v, want %v", fold, have.TimesPs, have.Values, want)
		}
	}
	if out := ask(&rackfabv1.QuerySeriesRequest{Limit: 10}); !out.Truncated || len(out.Series[0].Values) != 10 {
		t.Errorf("%v", out)
	}
	if out := ask(&rackfabv1.QuerySeriesRequest{FromPs: 9990}); len(out.Series) != 1 || len(out.Series[0].Values) != 1 {
		t.Errorf("%v", out)
	}
	list, err := s.ListSeries(&rackfabv1.SeriesSelector{Port: port(2)})
	if diff := cmp.Diff([]*rackfabv1.Series{queue("s1", 2)}, list.GetSeries(), protocmp.Transform()); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// The oldest run leaves first, with its file, and stays in the counts.
func TestTheOldestRunLeavesFirst(t *testing.T) {
	dir := t.TempDir()
	const limit = 8 << 20
	s := open(t, dir, Options{MaxSize: limit})
	for i := range 12 {
		write(t, s, gets(fmt.Sprintf("run%02d", i), 2000))
	}
	check := func() {
		t.Helper()
		runs, err := s.Runs()
		if err != nil || len(runs) < 2 || len(runs) == 12 || runs[0].GetRun() != "run11" {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		held := int64(len(runs)) * 6000
		c := s.Totals()
		if want := (Counts{Received: 72000, Stored: 72000, Held: held, Evicted: 72000 - held}); c.Spans != want || c.Evicted != 12-int64(len(runs)) {
			t.Errorf("%+v, want %+v", c, want)
		}
		if _, err := s.GetTrace("run00", "1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the oldest run is held: %v", err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "0*.db"))
		if err != nil || len(files) != len(runs) {
			t.Errorf("files %v, %v", files, err)
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{MaxSize: limit})
	check()
}

// A run that alone fills the store takes nothing more, and says so.
func TestARunThatFillsTheStore(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxSize: 2 << 20})
	write(t, s, gets("a", 3000))
	d := gets("a", 3001)
	d.Rejected.Spans = 2
	write(t, s, d)
	c := s.Totals().Spans
	if !d.Full || c != (Counts{Received: 9000 + 9003 + 2, Stored: 9000, Held: 9000, Rejected: 9003 + 2}) {
		t.Errorf("%v %+v", d.Full, c)
	}
}

// The slowest traces of each flow keep their spans, the others their root alone.
func TestTheSlowestAreKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{KeepSlowest: 0.01})
	write(t, s, gets("a", 1000))
	before, err := s.GetPercentiles(&rackfabv1.GetPercentilesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CloseIdle(noon.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if c := s.Totals().Spans; c.SampledOut != 0 {
		t.Errorf("a run that goes on was closed: %+v", c)
	}
	if n, err := s.CloseRun(""); err != nil || n != 990*2 {
		t.Errorf("%d left, %v", n, err)
	}
	for range 2 {
		if c := s.Totals().Spans; c != (Counts{Received: 3000, Stored: 3000, Held: 3000 - 1980, SampledOut: 1980}) {
			t.Errorf("%+v", c)
		}
		out, err := s.ListTraces(&rackfabv1.ListTracesRequest{Flow: "F1", Limit: 500})
		if err != nil || len(out.GetTraces()) != 500 {
			t.Fatal(len(out.GetTraces()), err)
		}
		for i, tr := range out.GetTraces() {
			whole := i < 5
			if tr.GetDetailsDropped() == whole || (tr.GetSpans() == 3) != whole || len(tr.GetAttributes()) != 1 {
				t.Fatalf("trace %d: %v", i, tr)
			}
		}
		after, err := s.GetPercentiles(&rackfabv1.GetPercentilesRequest{})
		if diff := cmp.Diff(before, after, protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, Options{KeepSlowest: 0.01})
	}
	write(t, s, gets("a", 1001)) // what left is new again; what is new counts as such
	if c := s.Totals().Spans; c.Stored != 3000+1980+3 || c.Received != c.Stored+c.Duplicates || c.Stored != c.Held+c.SampledOut {
		t.Errorf("%+v", c)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none"), Options{ReadOnly: true}); err == nil {
		t.Error("opened a folder that is not there")
	}
	s := open(t, dir, Options{})
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("opened a folder twice")
	}
	write(t, s, gets("a", 1))
	if _, err := s.ListTraces(&rackfabv1.ListTracesRequest{Run: "b"}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "000002.db"), []byte("no database, but long enough to be looked at"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("opened a damaged file")
	}
}
