package query

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// messages is a collector with messages, which it lists in pages of two.
type messages struct {
	rackfabv1.CollectorServiceClient
	all   []*rackfabv1.TraceSummary
	limit *int32 // of the latest request
}

func (m messages) ListTraces(_ context.Context, q *rackfabv1.ListTracesRequest, _ ...grpc.CallOption) (*rackfabv1.ListTracesResponse, error) {
	*m.limit = q.GetLimit()
	out := &rackfabv1.ListTracesResponse{Run: "a"}
	for i, t := range m.all[min(int(q.GetOffset())/pageOfTraces*2, len(m.all)):] {
		if out.More = i == 2; out.GetMore() {
			break
		}
		if t.GetStartPs() >= q.GetFromPs() && t.GetStartPs() < q.GetToPs() {
			out.Traces = append(out.Traces, t)
		}
	}
	return out, nil
}

// The file of a part of a run has the messages that overlap it, not only those that began in it; --slowest
// counts the messages that are left.
func TestFileHasMessagesThatOverlap(t *testing.T) {
	api := messages{limit: new(int32), all: []*rackfabv1.TraceSummary{
		{TraceId: "spans", StartPs: 0, DurationPs: 900},
		{TraceId: "before", StartPs: 0, DurationPs: 400},
		{TraceId: "into", StartPs: 400, DurationPs: 200},
		{TraceId: "within", StartPs: 550, DurationPs: 10},
		{TraceId: "after", StartPs: 600, DurationPs: 10},
	}}
	for most, want := range map[int32][]string{0: {"spans", "into", "within"}, 2: {"spans", "into"}} {
		f := traceFlags{q: rackfabv1.ListTracesRequest{FromPs: 500, ToPs: 600, Limit: most}}
		list, err := f.overlapping(t.Context(), api, most == 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range list.GetTraces() {
			got = append(got, m.GetTraceId())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	whole := traceFlags{q: rackfabv1.ListTracesRequest{ToPs: 600, Limit: 2}}
	if _, err := whole.overlapping(t.Context(), api, false); err != nil || *api.limit != 2 {
		t.Errorf("a run without a range: the limit of the request is %d, %v", *api.limit, err)
	}
}
