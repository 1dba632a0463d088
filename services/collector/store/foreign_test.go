package store

import (
	"slices"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// call returns a span in the trace of a caller that exports to another collector.
func call(id, parent uint64, name string, start, end int64) Span {
	return Span{Trace: traceID(1), ID: id, Parent: parent, Name: name, Node: "controller", Start: start, End: end}
}

func foreign(spans ...Span) *Delivery { return &Delivery{Run: RunInfo{Run: Foreign}, Spans: spans} }

func listed(t *testing.T, s *Store, q *rackfabv1.ListTracesRequest) []*rackfabv1.TraceSummary {
	t.Helper()
	q.Limit = 10
	out, err := s.ListTraces(q)
	if err != nil {
		t.Fatal(err)
	}
	return out.GetTraces()
}

// A trace whose root is not here is listed by the earliest span whose parent is not
// stored, in any order of arrival, and by its root once that arrives.
func TestTraceWithARemoteParentIsListed(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	steps := []struct {
		span Span
		name string
	}{
		{call(4, 3, "node", 30, 40), "node"},
		{call(2, 9, "serve", 10, 60), "serve"},
		{call(3, 2, "ask", 20, 50), "serve"},
		{call(9, 0, "caller", 0, 90), "caller"},
	}
	for i, step := range steps {
		write(t, s, foreign(step.span))
		for _, order := range []rackfabv1.TraceOrder{rackfabv1.TraceOrder_TRACE_ORDER_SLOWEST, rackfabv1.TraceOrder_TRACE_ORDER_LATEST} {
			all := listed(t, s, &rackfabv1.ListTracesRequest{Order: order})
			if len(all) != 1 || all[0].GetName() != step.name || int(all[0].GetSpans()) != i+1 {
				t.Errorf("after %s, %v: %v", step.span.Name, order, all)
			}
		}
	}
	rows, err := s.GetPercentiles(&rackfabv1.GetPercentilesRequest{})
	if err != nil || len(rows.GetRows()) != 1 || rows.GetRows()[0].GetCount() != 1 || rows.GetRows()[0].GetMaxPs() != 90 {
		t.Errorf("%v, %v", rows, err)
	}
	if runs := s.Runs(); len(runs) != 1 || runs[0].GetTraces() != 1 {
		t.Errorf("%v", runs)
	}
}

// A listed trace keeps its entry when later spans close a cycle of parents.
func TestTraceWithACycleOfParents(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, span := range []Span{call(1, 2, "a", 10, 20), call(2, 1, "b", 10, 30), call(3, 9, "c", 15, 17)} {
		write(t, s, foreign(span))
		all := listed(t, s, &rackfabv1.ListTracesRequest{})
		want := map[string]string{"a": "a", "b": "a", "c": "c"}[span.Name]
		if len(all) != 1 || all[0].GetName() != want {
			t.Errorf("after %s, listed %v", span.Name, all)
		}
		if n := s.Runs()[0].GetTraces(); n != 1 {
			t.Errorf("after %s, %d traces", span.Name, n)
		}
	}
}

// A cycle of spans has no local root; spans of a rack's run wait for their root.
func TestTraceWithoutALocalRootIsNotListed(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	write(t, s, foreign(call(1, 2, "a", 0, 1), call(2, 1, "b", 0, 1)))
	write(t, s, &Delivery{Run: RunInfo{Run: "rack"}, Spans: []Span{call(2, 1, "switch", 0, 1)}})
	for _, run := range []string{Foreign, "rack"} {
		if all := listed(t, s, &rackfabv1.ListTracesRequest{Run: run}); len(all) != 0 {
			t.Errorf("%s: %v", run, all)
		}
	}
}

// The run of data that names no run is the latest only if there is no other.
func TestLatestRunIsNotForeign(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	latest := func(want ...string) {
		t.Helper()
		var have []string
		for _, r := range s.Runs() {
			have = append(have, r.GetRun())
		}
		if r, err := s.find(""); err != nil || r.info.Run != want[0] || !slices.Equal(have, want) {
			t.Errorf("latest is %v, runs %v; want %v", r, have, want)
		}
	}
	write(t, s, foreign(call(1, 0, "a", 0, 1)))
	latest(Foreign)
	write(t, s, gets("a", 1))
	latest("a", Foreign)
	write(t, s, gets("b", 1))
	latest("b", "a", Foreign)
}
