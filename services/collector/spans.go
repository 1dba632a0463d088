package collector

import (
	"fmt"

	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/rackfab/rackfab/services/collector/store"
)

// spans converts a request to deliveries. why lists the reasons for rejected spans.
func (e *epochs) spans(q *tracespb.ExportTraceServiceRequest) (all []*store.Delivery, why *reasons) {
	why = &reasons{}
	for _, r := range q.GetResourceSpans() {
		list := spansOf(r)
		if len(list) == 0 {
			continue
		}
		t := e.splitter(r.GetResource(), firstInstant(list))
		for _, s := range list {
			d, _, _ := t.deliveryAt(s.GetStartTimeUnixNano()) // span reports an invalid time
			one, fault := t.origin.span(&d.Run, s)
			if fault != "" {
				d.Rejected.Spans++
				why.add(fault)
				continue
			}
			d.Spans = append(d.Spans, one)
		}
		all = append(all, t.deliveries...)
	}
	return all, why
}

// spansOf returns the spans of a resource.
func spansOf(r *tracepb.ResourceSpans) (all []*tracepb.Span) {
	for _, scope := range r.GetScopeSpans() {
		all = append(all, scope.GetSpans()...)
	}
	return all
}

// firstInstant returns the first start time in a list of spans, or 0 if no span has one.
func firstInstant(list []*tracepb.Span) uint64 {
	for _, s := range list {
		if at := s.GetStartTimeUnixNano(); at != 0 {
			return at
		}
	}
	return 0
}

// span validates a span and converts it to the store's form. fault says what is wrong
// with an invalid span.
func (o *origin) span(run *store.RunInfo, s *tracepb.Span) (out store.Span, fault string) {
	id, okID := spanID(s.GetSpanId())
	parent, okParent := spanID(s.GetParentSpanId())
	switch {
	case len(s.GetTraceId()) != 16 || [16]byte(s.GetTraceId()) == [16]byte{}:
		return out, "trace_id: want 16 bytes, not all 0"
	case !okID:
		return out, "span_id: want 8 bytes, not all 0"
	case len(s.GetParentSpanId()) > 0 && !okParent:
		return out, "parent_span_id: want 8 bytes, not all 0, or none"
	case s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano():
		return out, "end_time_unix_nano: want no instant before the start"
	}
	start, ok1 := instant(run, s.GetStartTimeUnixNano())
	end, ok2 := instant(run, s.GetEndTimeUnixNano())
	if !ok1 || !ok2 {
		return out, fmt.Sprintf("start_time_unix_nano, end_time_unix_nano: want instants within 100 days of the epoch of run %s", run.Run)
	}
	out = store.Span{
		Trace: [16]byte(s.GetTraceId()), ID: id, Parent: parent, Name: s.GetName(), Node: o.node, Service: o.service,
		Start: start, End: end, Error: failure(s.GetStatus()),
	}
	out.Attributes = take(s.GetAttributes(), field{key: attrStart, number: &out.Start}, field{key: attrEnd, number: &out.End},
		field{key: attrNode, text: &out.Node}, field{key: attrFlow, text: &out.Flow})
	if out.End < out.Start {
		return out, attrEnd + ": want no instant before " + attrStart
	}
	out.Attributes = append(out.Attributes, o.more...)
	out.Attributes = append(out.Attributes, rest(s)...)
	out.Events = events(run, s)
	return out, ""
}
