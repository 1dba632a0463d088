package store

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Names of spans, nodes, services and flows are stored in full, so that two long names with the same
// beginning are two. Only one that is longer than any of a scenario is cut, at the end of a character.
func TestLongNamesAreWhole(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	long := strings.Repeat("n", 63)
	want := map[string]string{} // flow -> stored flow
	d := &Delivery{Run: RunInfo{Run: "a"}}
	for i, flow := range []string{
		strings.Repeat("f", 64), strings.Repeat("f", 65), long + "/" + long + "->x0", long + "/" + long + "->x1",
		strings.Repeat("f", maxColumn), "f" + strings.Repeat("µ", maxColumn), strings.Repeat("µ", maxColumn),
	} {
		spans := get(i+1, flow, int64(i), 100)
		spans[0].Name, spans[0].Node, spans[0].Service = long+"name"+flow, long+"node"+flow, long+"service"+flow
		d.Spans = append(d.Spans, spans...)
		want[flow] = strings.ToValidUTF8(flow[:min(len(flow), maxColumn)], "")
	}
	write(t, s, d)
	for range 2 {
		for flow, stored := range want {
			out, err := s.ListTraces(&rackfabv1.ListTracesRequest{Flow: stored, Limit: 10})
			if err != nil || len(out.GetTraces()) != 1 {
				t.Fatalf("%d traces of flow %.80s, %v", len(out.GetTraces()), flow, err)
			}
			tr, err := s.GetTrace("a", out.GetTraces()[0].GetTraceId())
			if err != nil {
				t.Fatal(err)
			}
			root := tr.GetSpans()[0]
			if root.GetFlow() != stored || !utf8.ValidString(root.GetFlow()) || len(root.GetFlow()) < min(len(flow), maxColumn-1) {
				t.Errorf("flow %q, want %q", root.GetFlow(), stored)
			}
			for prefix, name := range map[string]string{"name": root.GetName(), "node": root.GetNode(), "service": root.GetService()} {
				if full := long + prefix + flow; !strings.HasPrefix(full, name) || len(name) < min(len(full), maxColumn-1) {
					t.Errorf("%s %q, want %q", prefix, name, full)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, Options{})
	}
}

// The texts of attributes leave numbers for the names of flows.
func TestNamesAfterManyTexts(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	write(t, s, gets("a", 1))
	names := *s.runs[0].texts.Load()
	for i := len(names); i < maxNames; i++ {
		names = append(names, fmt.Sprint("text", i))
	}
	s.runs[0].texts.Store(&names)
	d := gets("a", 3)
	for i := range d.Spans {
		d.Spans[i].Flow += "new"
	}
	d.Spans = d.Spans[3:]
	write(t, s, d)
	out, err := s.ListTraces(&rackfabv1.ListTracesRequest{Flow: "F1new", Limit: 10})
	if err != nil || len(out.GetTraces()) != 1 {
		t.Errorf("%v, %v", out, err)
	}
}
