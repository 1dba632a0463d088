package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/testing/protocmp"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

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

// A message that the end of the run or a bound on spans cut short has no duration to count.
func TestPercentilesLeaveOutUnfinishedMessages(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	d := gets("a", 4) // of F0: 1 us and 3 us, of F1: 2 us and 4 us
	for root, key := range map[int]string{0: "rackfab.open", 3: "rackfab.cut", 9: "rackfab.open"} {
		d.Spans[root].Attributes = append(d.Spans[root].Attributes, &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}})
	}
	write(t, s, d)
	out, err := s.GetPercentiles(&rackfabv1.GetPercentilesRequest{})
	want := &rackfabv1.GetPercentilesResponse{Rows: []*rackfabv1.Percentiles{
		{Run: "a", Scheme: "pcn", Flow: "F0", Count: 1, Unfinished: 1, MinPs: 3e6, P50Ps: 3e6, P90Ps: 3e6, P99Ps: 3e6, P999Ps: 3e6, MaxPs: 3e6},
		{Run: "a", Scheme: "pcn", Flow: "F1", Unfinished: 2},
	}}
	if diff := cmp.Diff(want, out, protocmp.Transform()); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// The error of an empty store says that it is empty.
func TestTheLatestRunOfAnEmptyStore(t *testing.T) {
	_, err := open(t, t.TempDir(), Options{}).ListTraces(&rackfabv1.ListTracesRequest{})
	if want := "latest run: not stored: the store is empty"; !errors.Is(err, ErrNotFound) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
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
		rackfabv1.Fold_FOLD_UNSPECIFIED: {598.5, 628.5}, // the maximum of a gauge
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
