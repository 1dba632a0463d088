package collector

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/rackfab/rackfab/services/collector/store"
)

// spanID parses a span ID and reports whether it is valid.
func spanID(b []byte) (uint64, bool) {
	if len(b) != 8 {
		return 0, false
	}
	id := binary.BigEndian.Uint64(b)
	return id, id != 0
}

// failure returns the error message of a failed span, or "" if the span did not fail.
func failure(s *tracepb.Status) string {
	if s.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		return ""
	}
	return cmp.Or(s.GetMessage(), "failed")
}

// columns stores the attributes for which out has a field in out, and returns the other
// attributes.
func columns(out *store.Span, list []*commonpb.KeyValue) []*commonpb.KeyValue {
	var more []*commonpb.KeyValue
	for _, a := range list {
		v := a.GetValue()
		switch a.GetKey() {
		case attrStart:
			out.Start = v.GetIntValue()
		case attrEnd:
			out.End = v.GetIntValue()
		case attrNode:
			out.Node = v.GetStringValue()
		case attrFlow:
			out.Flow = v.GetStringValue()
		default:
			more = append(more, a)
		}
	}
	return more
}

// rest returns further properties of an OTLP span as attributes: its kind, and the
// counts of attributes, events and links that its exporter dropped.
func rest(s *tracepb.Span) (more []*commonpb.KeyValue) {
	if k := s.GetKind(); k > tracepb.Span_SPAN_KIND_INTERNAL {
		more = append(more, textAttribute("span.kind", strings.ToLower(strings.TrimPrefix(k.String(), "SPAN_KIND_"))))
	}
	for _, d := range []struct {
		key string
		n   uint32
	}{
		{"otel.dropped_attributes_count", s.GetDroppedAttributesCount()},
		{"otel.dropped_events_count", s.GetDroppedEventsCount()},
		{"otel.dropped_links_count", s.GetDroppedLinksCount()},
	} {
		if d.n > 0 {
			more = append(more, &commonpb.KeyValue{Key: d.key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(d.n)}}})
		}
	}
	return more
}

// events returns the events of a span with their times in fabric time, and its links as
// events at its start.
func events(run *store.RunInfo, s *tracepb.Span) (out []*tracepb.Span_Event) {
	for _, l := range s.GetLinks() {
		out = append(out, &tracepb.Span_Event{Name: "link", TimeUnixNano: eventTime(run, s.GetStartTimeUnixNano()), Attributes: append([]*commonpb.KeyValue{
			textAttribute("trace_id", hex.EncodeToString(l.GetTraceId())), textAttribute("span_id", hex.EncodeToString(l.GetSpanId())),
		}, l.GetAttributes()...)})
	}
	for _, e := range s.GetEvents() {
		event := &tracepb.Span_Event{Name: e.GetName(), TimeUnixNano: eventTime(run, e.GetTimeUnixNano()), DroppedAttributesCount: e.GetDroppedAttributesCount()}
		for _, a := range e.GetAttributes() {
			if a.GetKey() == attrAt {
				event.TimeUnixNano = uint64(a.GetValue().GetIntValue())
			} else {
				event.Attributes = append(event.Attributes, a)
			}
		}
		out = append(out, event)
	}
	return out
}

// eventTime converts ns since 1970 to the clock of a run, in the store's form.
func eventTime(run *store.RunInfo, nano uint64) uint64 {
	at, _ := instant(run, nano)
	return uint64(at)
}

func textAttribute(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}
