package traces

import (
	"fmt"
	"io"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// The JSON that Jaeger's user interface uploads, which is that of its own query API.
// Times are whole us.
type (
	jaegerFile struct {
		Data []jaegerTrace `json:"data"`
	}
	jaegerTrace struct {
		TraceID   string                   `json:"traceID"`
		Spans     []jaegerSpan             `json:"spans"`
		Processes map[string]jaegerProcess `json:"processes"`
	}
	jaegerProcess struct {
		ServiceName string      `json:"serviceName"`
		Tags        []jaegerTag `json:"tags"`
	}
	jaegerSpan struct {
		TraceID    string            `json:"traceID"`
		SpanID     string            `json:"spanID"`
		Operation  string            `json:"operationName"`
		References []jaegerReference `json:"references"`
		Start      int64             `json:"startTime"`
		Duration   int64             `json:"duration"`
		Tags       []jaegerTag       `json:"tags"`
		Logs       []jaegerLog       `json:"logs"`
		Process    string            `json:"processID"`
	}
	jaegerReference struct {
		Type    string `json:"refType"`
		TraceID string `json:"traceID"`
		SpanID  string `json:"spanID"`
	}
	jaegerLog struct {
		Timestamp int64       `json:"timestamp"`
		Fields    []jaegerTag `json:"fields"`
	}
	jaegerTag struct {
		Key   string `json:"key"`
		Type  string `json:"type"`
		Value any    `json:"value"`
	}
)

// writeJaeger writes one object with all messages.
func (d *Data) writeJaeger(w io.Writer) error {
	f := jaegerFile{Data: []jaegerTrace{}}
	for _, m := range d.Messages {
		f.Data = append(f.Data, d.jaegerTrace(m))
	}
	return encoder(w).Encode(f)
}

// jaegerTrace converts a message. Each node is a process with the name of the node.
func (d *Data) jaegerTrace(m *rackfabv1.GetTraceResponse) jaegerTrace {
	out := jaegerTrace{TraceID: m.GetTraceId(), Processes: map[string]jaegerProcess{}}
	keys := map[exporter]string{}
	for _, s := range m.GetSpans() {
		from := exporter{s.GetService(), s.GetNode()}
		if keys[from] == "" {
			keys[from] = fmt.Sprintf("p%d", len(keys)+1)
			tags := jaegerTags(append(d.identity(), text("service.name", from.service)))
			out.Processes[keys[from]] = jaegerProcess{ServiceName: from.node, Tags: tags}
		}
		out.Spans = append(out.Spans, d.jaegerSpan(m.GetTraceId(), s, keys[from]))
	}
	return out
}

func (d *Data) jaegerSpan(trace string, s *rackfabv1.Span, process string) jaegerSpan {
	start := d.nano(s.GetStartPs()) / 1000
	out := jaegerSpan{
		TraceID: trace, SpanID: s.GetSpanId(), Operation: s.GetName(), References: []jaegerReference{}, Process: process,
		Start: start, Duration: d.nano(s.GetEndPs())/1000 - start, Logs: []jaegerLog{},
		Tags: jaegerTags(append(d.place(s), s.GetAttributes()...)),
	}
	if parent := s.GetParentSpanId(); parent != "" {
		out.References = append(out.References, jaegerReference{"CHILD_OF", trace, parent})
	}
	if s.GetError() != "" {
		out.Tags = append(out.Tags, jaegerTag{"error", "bool", true}, jaegerTag{"otel.status_description", "string", s.GetError()})
	}
	for _, e := range s.GetEvents() {
		if trace, span, _ := link(e); trace != "" {
			out.References = append(out.References, jaegerReference{"FOLLOWS_FROM", trace, span})
			continue
		}
		fields := append([]jaegerTag{{"event", "string", e.GetName()}}, jaegerTags(append(e.GetAttributes(), number("rackfab.at_ps", e.GetAtPs())))...)
		out.Logs = append(out.Logs, jaegerLog{Timestamp: d.nano(e.GetAtPs()) / 1000, Fields: fields})
	}
	return out
}

func jaegerTags(list []*rackfabv1.Attribute) []jaegerTag {
	out := []jaegerTag{}
	for _, a := range list {
		value, kind := typed(a)
		out = append(out, jaegerTag{a.GetKey(), kind, value})
	}
	return out
}
