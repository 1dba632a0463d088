package traces

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// requestMessages is the number of messages in one request: below the 4 MiB that servers
// of OTLP accept by default.
const requestMessages = 16

// writeOTLP writes requests of OTLP/JSON, one per line, as the file exporter of
// OpenTelemetry does.
func (d *Data) writeOTLP(w io.Writer) error {
	for some := range slices.Chunk(d.Messages, requestMessages) {
		q, err := d.request(some)
		if err != nil {
			return err
		}
		line, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(q)
		if err != nil {
			return err
		}
		var compact bytes.Buffer // protojson inserts spaces at random
		if err := json.Compact(&compact, line); err != nil {
			return err
		}
		if _, err := w.Write(append(compact.Bytes(), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// exporter identifies a resource.
type exporter struct{ service, node string }

// request returns a request with messages, their spans by exporter.
func (d *Data) request(messages []*rackfabv1.GetTraceResponse) (*collectorpb.ExportTraceServiceRequest, error) {
	q := &collectorpb.ExportTraceServiceRequest{}
	by := map[exporter]*tracepb.ScopeSpans{}
	for _, m := range messages {
		for _, s := range m.GetSpans() {
			from := exporter{s.GetService(), s.GetNode()}
			if by[from] == nil {
				by[from] = &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: "github.com/rackfab/rackfab"}}
				q.ResourceSpans = append(q.ResourceSpans, &tracepb.ResourceSpans{Resource: d.resource(from), ScopeSpans: []*tracepb.ScopeSpans{by[from]}})
			}
			out, err := d.otlpSpan(m.GetTraceId(), s)
			if err != nil {
				return nil, err
			}
			by[from].Spans = append(by[from].Spans, out)
		}
	}
	return q, nil
}

func (d *Data) resource(e exporter) *resourcepb.Resource {
	list := d.identity()
	for _, a := range []*rackfabv1.Attribute{text("service.name", e.service), text("service.instance.id", e.node), text("rackfab.node", e.node)} {
		if a.GetText() != "" {
			list = append(list, a)
		}
	}
	return &resourcepb.Resource{Attributes: otlpAttributes(list)}
}

// hexID returns the bytes that JSON encodes as a given hexadecimal ID: OTLP/JSON has IDs
// in hexadecimal, where the JSON of protobuf has base64.
func hexID(id string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(id)
	if err != nil {
		return nil, fmt.Errorf("ID %q: %w", id, err)
	}
	return b, nil
}

// otlpSpan converts a span. Attributes and events that the collector made of other fields
// of OTLP become these fields again.
func (d *Data) otlpSpan(trace string, s *rackfabv1.Span) (*tracepb.Span, error) {
	out := &tracepb.Span{
		Name: s.GetName(), Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: uint64(d.nano(s.GetStartPs())), EndTimeUnixNano: uint64(d.nano(s.GetEndPs())),
	}
	for to, id := range map[*[]byte]string{&out.TraceId: trace, &out.SpanId: s.GetSpanId(), &out.ParentSpanId: s.GetParentSpanId()} {
		b, err := hexID(id)
		if err != nil {
			return nil, err
		}
		*to = b
	}
	if s.GetError() != "" {
		out.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.GetError()}
	}
	out.Attributes = otlpAttributes(d.place(s))
	for _, a := range s.GetAttributes() {
		switch a.GetKey() {
		case "span.kind":
			out.Kind = tracepb.Span_SpanKind(tracepb.Span_SpanKind_value["SPAN_KIND_"+strings.ToUpper(a.GetText())])
		case "otel.dropped_attributes_count":
			out.DroppedAttributesCount = uint32(a.GetNumber())
		case "otel.dropped_events_count":
			out.DroppedEventsCount = uint32(a.GetNumber())
		case "otel.dropped_links_count":
			out.DroppedLinksCount = uint32(a.GetNumber())
		default:
			out.Attributes = append(out.Attributes, otlpAttribute(a))
		}
	}
	return out, d.addEvents(out, s.GetEvents())
}

// place returns the attributes of a span that the collector keeps in fields. The run of
// programs that take part in no run has no instants of its own.
func (d *Data) place(s *rackfabv1.Span) (list []*rackfabv1.Attribute) {
	if d.Run.GetRun() != store.Foreign {
		list = append(list, number("rackfab.start_ps", s.GetStartPs()), number("rackfab.end_ps", s.GetEndPs()))
	}
	for _, a := range []*rackfabv1.Attribute{text("rackfab.node", s.GetNode()), text("rackfab.flow", s.GetFlow())} {
		if a.GetText() != "" {
			list = append(list, a)
		}
	}
	return list
}

// addEvents adds the events of a span, and its links.
func (d *Data) addEvents(to *tracepb.Span, events []*rackfabv1.SpanEvent) error {
	for _, e := range events {
		if trace, span, more := link(e); trace != "" {
			l := &tracepb.Span_Link{Attributes: otlpAttributes(more)}
			var err1, err2 error
			l.TraceId, err1 = hexID(trace)
			l.SpanId, err2 = hexID(span)
			if err := cmp.Or(err1, err2); err != nil {
				return err
			}
			to.Links = append(to.Links, l)
			continue
		}
		list := otlpAttributes(e.GetAttributes())
		if d.Run.GetRun() != store.Foreign {
			list = append(list, otlpAttribute(number("rackfab.at_ps", e.GetAtPs())))
		}
		to.Events = append(to.Events, &tracepb.Span_Event{Name: e.GetName(), TimeUnixNano: uint64(d.nano(e.GetAtPs())), Attributes: list})
	}
	return nil
}

// link returns the IDs and the further attributes of a link, which the collector keeps as
// an event, or "" if the event is none.
func link(e *rackfabv1.SpanEvent) (trace, span string, more []*rackfabv1.Attribute) {
	if e.GetName() != "link" {
		return "", "", nil
	}
	for _, a := range e.GetAttributes() {
		switch a.GetKey() {
		case "trace_id":
			trace = a.GetText()
		case "span_id":
			span = a.GetText()
		default:
			more = append(more, a)
		}
	}
	return trace, span, more
}

func otlpAttributes(list []*rackfabv1.Attribute) (out []*commonpb.KeyValue) {
	for _, a := range list {
		out = append(out, otlpAttribute(a))
	}
	return out
}

func otlpAttribute(a *rackfabv1.Attribute) *commonpb.KeyValue {
	v := &commonpb.AnyValue{}
	switch x := a.GetValue().(type) {
	case *rackfabv1.Attribute_Number:
		v.Value = &commonpb.AnyValue_IntValue{IntValue: x.Number}
	case *rackfabv1.Attribute_Real:
		v.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: x.Real}
	case *rackfabv1.Attribute_Flag:
		v.Value = &commonpb.AnyValue_BoolValue{BoolValue: x.Flag}
	default:
		v.Value = &commonpb.AnyValue_StringValue{StringValue: a.GetText()}
	}
	return &commonpb.KeyValue{Key: a.GetKey(), Value: v}
}
