package query

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/report/table"
)

// axis is the time range of a trace and its width in a waterfall, in characters.
type axis struct {
	from, to int64 // in ps
	width    int
}

// axisOn returns an axis that suits a terminal of that many columns; 0 means that the
// output is not a terminal.
func axisOn(terminal int, from, to int64) axis {
	if isNarrow(terminal) {
		return axis{from, to, 12}
	}
	return axis{from, to, 40}
}

// isNarrow reports whether a terminal has too few columns for exact times and wide bars; 0 means
// that the output is not a terminal.
func isNarrow(terminal int) bool { return terminal > 0 && terminal < 120 }

// timesOn returns the format of times: exact, or rounded on a narrow terminal.
func timesOn(terminal int) func(ps int64) string {
	if isNarrow(terminal) {
		return func(ps int64) string { return cli.Round(unit.Time(ps), cli.Digits).String() }
	}
	return func(ps int64) string { return unit.Time(ps).String() }
}

// shownElsewhere are the attributes that a waterfall omits because its header or its
// columns show them.
var shownElsewhere = []string{"rackfab.wall_unix_nano", "rackfab.message", "rackfab.direction", "rackfab.in_ps", "span.kind"}

// waterfall writes a trace: one row per span below its parent, with a bar for its time,
// and one row for each of its first events. If events is 0, it writes all events.
func waterfall(w io.Writer, t *rackfabv1.GetTraceResponse, events int) error {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	children := map[string][]*rackfabv1.Span{}
	ids := map[string]bool{}
	for _, s := range t.GetSpans() {
		from, to = min(from, s.GetStartPs()), max(to, s.GetEndPs())
		ids[s.GetSpanId()] = true
	}
	for _, s := range t.GetSpans() {
		parent := s.GetParentSpanId()
		if !ids[parent] {
			parent = "" // the parent span is missing
		}
		children[parent] = append(children[parent], s)
	}
	width := table.Width(w)
	x, span := axisOn(width, from, to), timesOn(width)
	out := table.New(1, "span", "node", "start", "took", strings.Repeat(" ", x.width), "attributes").Right(2, 3)
	var walk func(parent string, depth int)
	walk = func(parent string, depth int) {
		for _, s := range children[parent] {
			out.Row(strings.Repeat("  ", depth)+s.GetName(), s.GetNode(), "+"+span(s.GetStartPs()-from), span(s.GetEndPs()-s.GetStartPs()),
				x.bar(s), attributesOf(s, span))
			for i, e := range s.GetEvents() {
				if left := len(s.GetEvents()) - i; events > 0 && i == events {
					out.Row(strings.Repeat("  ", depth)+fmt.Sprintf("  · %d more", left), "", "", "", "", "--events 0 shows them")
					break
				}
				out.Row(strings.Repeat("  ", depth)+"  · "+e.GetName(), "", "+"+span(e.GetAtPs()-from), "", x.mark(e.GetAtPs()), attributesText(e.GetAttributes(), span))
			}
			walk(s.GetSpanId(), depth+1)
		}
	}
	walk("", 0)
	_, err := fmt.Fprintln(w, table.WrapFor(w, header(t, from, to)))
	if err == nil {
		err = out.Write(w)
	}
	if err == nil && t.GetDetailsDropped() {
		_, err = fmt.Fprintln(w, "--keep-slowest dropped the details")
	}
	return err
}

// header returns a line that identifies the message, and the shares of its critical
// path.
func header(t *rackfabv1.GetTraceResponse, from, to int64) string {
	parts := []string{"trace " + t.GetTraceId(), "run " + t.GetRun()}
	if s := t.GetSpans(); len(s) > 0 {
		if s[0].GetFlow() != "" {
			parts = append(parts, "flow "+s[0].GetFlow())
		}
		for _, a := range s[0].GetAttributes() {
			if a.GetKey() == "rackfab.message" {
				parts = append(parts, "message "+store.AttributeText(a))
			}
		}
	}
	line := strings.Join(append(parts, fmt.Sprintf("%s from %s", unit.Time(to-from), unit.Time(from))), ", ")
	if shares := sharesText(t.GetSpans()); shares != "" {
		line += "\ncritical path: " + shares
	}
	return line
}

// bar returns a bar over the time of a span.
func (x axis) bar(s *rackfabv1.Span) string {
	begin := x.place(s.GetStartPs())
	return strings.Repeat(" ", begin) + strings.Repeat("█", max(1, x.place(s.GetEndPs())-begin))
}

// mark returns a mark at an instant.
func (x axis) mark(at int64) string { return strings.Repeat(" ", x.place(at)) + "│" }

// place returns the column of an instant.
func (x axis) place(at int64) int {
	if x.to <= x.from {
		return 0
	}
	column := int(math.Round(float64(at-x.from) / float64(x.to-x.from) * float64(x.width)))
	return min(max(column, 0), x.width-1)
}

// attributesOf returns the error and the attributes of a span that have no column.
func attributesOf(s *rackfabv1.Span, span func(ps int64) string) string {
	text := attributesText(s.GetAttributes(), span)
	if s.GetError() != "" {
		text = strings.TrimSpace("failed: " + s.GetError() + " " + text)
	}
	return text
}

func attributesText(list []*rackfabv1.Attribute, span func(ps int64) string) string {
	var parts []string
	for _, a := range list {
		if !slices.Contains(shownElsewhere, a.GetKey()) {
			key := strings.TrimSuffix(strings.TrimPrefix(a.GetKey(), "rackfab."), "_ps")
			parts = append(parts, key+"="+valueText(a, span))
		}
	}
	return strings.Join(parts, " ")
}

// valueText formats an attribute. Durations, by span, and rates have units.
func valueText(a *rackfabv1.Attribute, span func(ps int64) string) string {
	v, ok := a.GetValue().(*rackfabv1.Attribute_Number)
	switch {
	case ok && strings.HasSuffix(a.GetKey(), "_ps"):
		return span(v.Number)
	case ok && strings.HasPrefix(a.GetKey(), "rackfab.rate."):
		return unit.Rate(v.Number).String()
	}
	return store.AttributeText(a)
}
