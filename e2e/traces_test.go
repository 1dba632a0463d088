package e2e

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// stored returns every span of the latest run, sorted. It omits what may differ between
// two equal runs: the run's name and the wall time.
func stored(t *testing.T, c rackfabv1.CollectorServiceClient) (spans []string) {
	t.Helper()
	list, err := c.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Limit: 10_000})
	if err != nil || list.GetMore() {
		t.Fatal(err, list.GetMore())
	}
	for _, trace := range list.GetTraces() {
		answer, err := c.GetTrace(t.Context(), &rackfabv1.GetTraceRequest{Run: list.GetRun(), TraceId: trace.GetTraceId()})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range answer.GetSpans() {
			spans = append(spans, ofSpan(t, trace.GetTraceId(), s))
		}
	}
	slices.Sort(spans)
	return spans
}

// runExporting runs a scenario that exports to a collector, and returns its output.
func runExporting(t *testing.T, collector string, flags ...string) string {
	t.Helper()
	args := append([]string{
		"run", "--scheme", "dcqcn", "--duration", "2ms",
		"--telemetry=" + collector, "--sample-ratio", "0.2", "--sample-flows", "F*", "--output", t.TempDir(),
	}, flags...)
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The same run has the same traces over the bus and in memory: IDs, names, parents,
// times, attributes and events.
func TestTracesOverNATSMatchMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a rack")
	}
	var have [2][]string
	for i, carried := range []string{"nats", "memory"} {
		c, address := startCollector(t)
		runExporting(t, address, "--bus", carried)
		have[i] = stored(t, c)
	}
	if diff := cmp.Diff(have[0], have[1]); diff != "" || len(have[0]) < 20 {
		t.Errorf("%d spans; over the bus (-), in memory (+):\n%s", len(have[0]), diff)
	}
}
