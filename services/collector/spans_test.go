package collector

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/testing/protocmp"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

func TestSpansPlainAndCompressed(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	for i, option := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		out, err := c.traces.Export(t.Context(), request(node("h0"), write(uint64(i+1), 500*i)), option...)
		if err != nil || out.GetPartialSuccess() != nil {
			t.Fatal(out, err)
		}
	}
	list, err := c.api.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Flow: "F0", Order: rackfabv1.TraceOrder_TRACE_ORDER_LATEST})
	if err != nil || len(list.GetTraces()) != 2 {
		t.Fatal(list, err)
	}
	out, err := c.api.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{TraceId: list.GetTraces()[0].GetTraceId()})
	want := &rackfabv1.GetTraceResponse{Run: "a", TraceId: "30303030303030303030303030303032", Spans: []*rackfabv1.Span{{
		SpanId: "3030303030303032", Name: "WRITE", Node: "h0", Service: "rackfab-nic", Flow: "F0", StartPs: 500_007, EndPs: 1_500_009,
		Attributes: []*rackfabv1.Attribute{{Key: "rackfab.bytes", Value: &rackfabv1.Attribute_Number{Number: 4096}}},
		Events:     []*rackfabv1.SpanEvent{{Name: "pause", AtPs: 505_000}},
	}}}
	if diff := cmp.Diff(want, out, protocmp.Transform()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if runs, err := c.api.ListRuns(t.Context(), &rackfabv1.ListRunsRequest{}); err != nil || len(runs.GetRuns()) != 1 || runs.GetRuns()[0].GetEpochUnixNano() != epoch {
		t.Error(runs, err)
	}
}

// Invalid spans are reported in partial_success, and the others are stored.
func TestInvalidSpans(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	bad := func(change func(*tracepb.Span)) *tracepb.Span {
		s := write(9, 0)
		change(s)
		return s
	}
	out, err := c.traces.Export(t.Context(), request(node("h0"), write(1, 0),
		bad(func(s *tracepb.Span) { s.TraceId = s.TraceId[:8] }),
		bad(func(s *tracepb.Span) { s.TraceId = make([]byte, 16) }),
		bad(func(s *tracepb.Span) { s.SpanId = nil }),
		bad(func(s *tracepb.Span) { s.ParentSpanId = []byte{1} }),
		bad(func(s *tracepb.Span) { s.EndTimeUnixNano = s.StartTimeUnixNano - 1 }),
		bad(func(s *tracepb.Span) { s.Attributes = []*commonpb.KeyValue{attr("rackfab.end_ps", -5)} }),
	))
	if err != nil {
		t.Fatal(err)
	}
	const why = "trace_id: want 16 bytes, not all 0; span_id: want 8 bytes, not all 0; parent_span_id: want 8 bytes, not all 0, or none; " +
		"end_time_unix_nano: want no instant before the start; rackfab.end_ps: want no instant before rackfab.start_ps"
	if p := out.GetPartialSuccess(); p.GetRejectedSpans() != 6 || p.GetErrorMessage() != why {
		t.Errorf("%v", p)
	}
	if s := counters(t, c).GetSpans(); s.GetReceived() != 7 || s.GetStored() != 1 || s.GetRejected() != 6 {
		t.Errorf("%v", s)
	}
}

// Data in wall-clock time goes to a run of its own: from a client that is not a node,
// and from spans of a node outside fabric time.
func TestForeignSpans(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	const now = 1_790_000_000_123_456_789
	call := &tracepb.Span{
		TraceId: fmt.Appendf(nil, "%016x", 5), SpanId: fmt.Appendf(nil, "%08x", 5), Name: "call", StartTimeUnixNano: now, EndTimeUnixNano: now + 10,
		Kind: tracepb.Span_SPAN_KIND_CLIENT, Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR},
		Links: []*tracepb.Span_Link{{TraceId: fmt.Appendf(nil, "%016x", 6), SpanId: fmt.Appendf(nil, "%08x", 6)}},
	}
	stock := &resourcepb.Resource{Attributes: []*commonpb.KeyValue{attr("service.name", "stock"), attr("host.name", "box")}}
	for _, q := range []*tracespb.ExportTraceServiceRequest{request(node("h0"), write(1, 0), call), request(stock, call)} {
		if out, err := c.traces.Export(t.Context(), q); err != nil || out.GetPartialSuccess() != nil {
			t.Fatal(out, err)
		}
	}
	out, err := c.api.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{Run: "default", TraceId: "30303030303030303030303030303035"})
	if err != nil || len(out.GetSpans()) != 1 {
		t.Fatal(out, err)
	}
	s := out.GetSpans()[0]
	if s.GetStartPs() != 123_456_789_000 || s.GetError() != "failed" || s.GetEvents()[0].GetName() != "link" || s.GetAttributes()[0].GetKey() != "span.kind" {
		t.Errorf("%v", s)
	}
	if c := counters(t, c).GetSpans(); c.GetStored() != 2 || c.GetDuplicates() != 1 {
		t.Errorf("%v", c)
	}
}
