package page

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// traces is a collector with one trace.
type traces struct {
	rackfabv1.CollectorServiceClient
	spans []*rackfabv1.Span
}

func (c traces) GetTrace(context.Context, *rackfabv1.GetTraceRequest, ...grpc.CallOption) (*rackfabv1.GetTraceResponse, error) {
	return &rackfabv1.GetTraceResponse{Spans: c.spans}, nil
}

func number(key string, n int64) *rackfabv1.Attribute {
	return &rackfabv1.Attribute{Key: key, Value: &rackfabv1.Attribute_Number{Number: n}}
}

func text(key, v string) *rackfabv1.Attribute {
	return &rackfabv1.Attribute{Key: key, Value: &rackfabv1.Attribute_Text{Text: v}}
}

// The path of a message over one link: h0 is paused for 30 ps and sends, r0 answers.
func TestCriticalPathOfATrace(t *testing.T) {
	spans := []*rackfabv1.Span{
		{Name: "WRITE", Node: "h0", StartPs: 0, EndPs: 200, Attributes: []*rackfabv1.Attribute{number("rackfab.in_ps", 200)}, Events: []*rackfabv1.SpanEvent{
			{Name: "pause", AtPs: 10}, {Name: "resume", AtPs: 40, Attributes: []*rackfabv1.Attribute{number("rackfab.paused_ps", 30)}},
		}},
		{Name: "data", Node: "h0", StartPs: 0, EndPs: 50, Attributes: []*rackfabv1.Attribute{number("rackfab.in_ps", 0), number("rackfab.port.out", 0)}},
		{Name: "wire", Node: "h0", StartPs: 50, EndPs: 120, Attributes: []*rackfabv1.Attribute{number("rackfab.port.out", 0), text("rackfab.peer", "r0")}},
		{Name: "receive", Node: "r0", StartPs: 120, EndPs: 130, Attributes: []*rackfabv1.Attribute{number("rackfab.in_ps", 120), number("rackfab.port.out", 0), text("rackfab.direction", "back")}},
		{Name: "wire", Node: "r0", StartPs: 130, EndPs: 200, Attributes: []*rackfabv1.Attribute{number("rackfab.port.out", 0), text("rackfab.peer", "h0"), text("rackfab.direction", "back")}},
	}
	type answer struct {
		Legs   []pathLeg
		Reason string
	}
	for name, c := range map[string]struct {
		spans []*rackfabv1.Span
		want  answer
	}{
		"complete": {spans, answer{Legs: []pathLeg{{"sender", "h0", 0, 50, 30}, {"wire", "h0->r0", 50, 70, 0}, {"target", "r0", 120, 10, 0}, {"wire", "r0->h0", 130, 70, 0}}}},
		"a root that another message completed": {
			[]*rackfabv1.Span{{Name: "WRITE", Attributes: []*rackfabv1.Attribute{number("rackfab.in_ps", 5), number("rackfab.completed_by", 9)}}},
			answer{Legs: []pathLeg{}, Reason: "a frame of another message completed the message"},
		},
	} {
		w := get(newPage(t, Options{Collector: traces{spans: c.spans}}), "/api/paths/run/abc", nil)
		var have answer
		if err := json.Unmarshal(w.Body.Bytes(), &have); err != nil {
			t.Fatalf("%s: %v %s", name, err, w.Body)
		}
		if diff := cmp.Diff(c.want, have); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if w := get(newPage(t, Options{}), "/api/paths/run/abc", nil); w.Code != 404 {
		t.Errorf("without a collector: %d", w.Code)
	}
}
