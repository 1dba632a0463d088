package query

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// stored is a collector with runs.
type stored struct {
	rackfabv1.CollectorServiceClient
	runs []*rackfabv1.CollectedRun
}

func (s stored) ListRuns(context.Context, *rackfabv1.ListRunsRequest, ...grpc.CallOption) (*rackfabv1.ListRunsResponse, error) {
	return &rackfabv1.ListRunsResponse{Runs: s.runs}, nil
}

// A run is chosen by its ID first, then by its scheme if that is the scheme of no other run.
func TestChoose(t *testing.T) {
	api := stored{runs: []*rackfabv1.CollectedRun{{Run: "a", Scheme: "pfc"}, {Run: "b", Scheme: "pcn"}, {Run: "pcn-2", Scheme: "pfc"}, {Run: "irn", Scheme: "mrc"}, {Run: "c", Scheme: "irn"}}}
	for name, want := range map[string]string{"": "", "a": "a", "pcn": "b", "pcn-2": "pcn-2", "irn": "irn", "none": "none"} {
		if got := name; choose(t.Context(), api, &got) != nil || got != want {
			t.Errorf("%q is run %q, want %q", name, got, want)
		}
	}
	name, want := "pfc", "--run pfc: is the scheme of several runs, want one of a, pcn-2"
	if err := choose(t.Context(), api, &name); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
