package collector

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
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

// field is a place for the value of an attribute, as a text, as a number, or as the bits of an
// unsigned number, which is a decimal text above 2^63-1.
type field struct {
	key          string
	text         *string
	number, bits *int64
}

// take sets the fields whose attributes are in a list, and returns the other attributes.
func take(list []*commonpb.KeyValue, fields ...field) (more []*commonpb.KeyValue) {
	for _, a := range list {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == a.GetKey() })
		switch {
		case i < 0:
			more = append(more, a)
		case fields[i].text != nil:
			*fields[i].text = a.GetValue().GetStringValue()
		case fields[i].bits != nil:
			large, _ := strconv.ParseUint(a.GetValue().GetStringValue(), 10, 64) // 0 for a number
			*fields[i].bits = a.GetValue().GetIntValue() | int64(large)
		default:
			*fields[i].number = a.GetValue().GetIntValue()
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
		at, _ := instant(run, s.GetStartTimeUnixNano())
		out = append(out, &tracepb.Span_Event{Name: "link", TimeUnixNano: uint64(at), Attributes: append([]*commonpb.KeyValue{
			textAttribute("trace_id", hex.EncodeToString(l.GetTraceId())), textAttribute("span_id", hex.EncodeToString(l.GetSpanId())),
		}, l.GetAttributes()...)})
	}
	for _, e := range s.GetEvents() {
		at, _ := instant(run, e.GetTimeUnixNano())
		more := take(e.GetAttributes(), field{key: attrAt, number: &at})
		out = append(out, &tracepb.Span_Event{
			Name: e.GetName(), TimeUnixNano: uint64(at), Attributes: more, DroppedAttributesCount: e.GetDroppedAttributesCount(),
		})
	}
	return out
}

func textAttribute(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}
