package query

import (
	"strings"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// The table has the whole range of seeds.
func TestRunsHaveUnsignedSeeds(t *testing.T) {
	var out strings.Builder
	runs := []*rackfabv1.CollectedRun{{Run: "a", Seed: -1, UnsignedSeed: 1<<64 - 1}}
	if err := showRuns(&out, runs, &rackfabv1.GetCountersResponse{}); err != nil || !strings.Contains(out.String(), " 18446744073709551615 ") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}
