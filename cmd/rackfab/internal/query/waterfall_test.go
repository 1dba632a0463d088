package query

import (
	"fmt"
	"strings"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A waterfall has a row per span below its parent, and no more events than requested.
func TestWaterfall(t *testing.T) {
	held := &rackfabv1.Attribute{Key: "rackfab.paused_ps", Value: &rackfabv1.Attribute_Number{Number: 5e6}}
	cut := &rackfabv1.Attribute{Key: "rackfab.rate.new", Value: &rackfabv1.Attribute_Number{Number: 170e6}}
	root := &rackfabv1.Span{SpanId: "a", Name: "WRITE", Node: "h0", Flow: "F0", EndPs: 100e6, Attributes: []*rackfabv1.Attribute{held, cut}}
	for i := range int64(9) {
		root.Events = append(root.Events, &rackfabv1.SpanEvent{Name: "pause", AtPs: i * 10e6})
	}
	child := &rackfabv1.Span{SpanId: "b", ParentSpanId: "a", Name: "switch", Node: "s0", StartPs: 50e6, EndPs: 60e6}
	trace := &rackfabv1.GetTraceResponse{TraceId: "77", Run: "r", Spans: []*rackfabv1.Span{root, child}}
	for _, c := range []struct{ asked, rows int }{{0, 9}, {6, 6}, {9, 9}, {20, 9}} {
		var out strings.Builder
		if err := waterfall(&out, trace, c.asked); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "· pause"); got != c.rows {
			t.Errorf("%d events requested, %d shown", c.asked, got)
		}
		if more := fmt.Sprintf("· %d more", 9-c.rows); strings.Contains(out.String(), more) != (c.rows < 9) {
			t.Errorf("%d events requested: %q missing or unexpected in\n%s", c.asked, more, out.String())
		}
		for _, want := range []string{"paused=5us rate.new=170Mbps", "\n  switch", "+50us", "flow F0, 100us from 0ps"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
}

// On a narrow terminal times are rounded, so that a trace keeps its columns.
func TestTimesOfATrace(t *testing.T) {
	for terminal, want := range map[int]string{0: "1.5756184ms", 80: "1.576ms", 200: "1.5756184ms"} {
		if got := timesOn(terminal)(1_575_618_400); got != want {
			t.Errorf("terminal of %d: %s, want %s", terminal, got, want)
		}
	}
}

// On a narrow terminal a trace is narrower, but keeps its order.
func TestAxis(t *testing.T) {
	for terminal, width := range map[int]int{0: 40, 80: 12, 119: 12, 120: 40, 200: 40} {
		x := axisOn(terminal, 100, 200)
		if x.place(100) != 0 || x.place(150) != width/2 || x.place(200) != width-1 {
			t.Errorf("terminal of %d: %d %d %d", terminal, x.place(100), x.place(150), x.place(200))
		}
	}
}
