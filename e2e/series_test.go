package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/measure"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// query returns the latest run's series of a metric in steps of a bin, by "node->peer"
// or by flow. If hold is set, an empty bin repeats the previous value.
func query(t *testing.T, c rackfabv1.CollectorServiceClient, metric string, bin int64, bins int, hold bool) map[string][]int64 {
	t.Helper()
	answer, err := c.QuerySeries(t.Context(), &rackfabv1.QuerySeriesRequest{
		Select: &rackfabv1.SeriesSelector{Metric: metric}, StepPs: bin, Fold: rackfabv1.Fold_FOLD_LAST,
	})
	if err != nil || answer.GetTruncated() {
		t.Fatalf("%s: %v, truncated %t", metric, err, answer.GetTruncated())
	}
	list := map[string][]int64{}
	for _, s := range answer.GetSeries() {
		name := s.GetFlow()
		if name == "" {
			name = s.GetNode() + "->" + s.GetPeer()
		}
		values, present := make([]int64, bins), make([]bool, bins)
		for i, at := range s.GetTimesPs() {
			values[at/bin], present[at/bin] = int64(s.GetValues()[i]), true
		}
		for i := 1; hold && i < bins; i++ {
			if !present[i] {
				values[i] = values[i-1]
			}
		}
		list[name] = values
	}
	return list
}

// A collector's answers about a run, over the bus or in memory, equal the run's
// series.json: the peak of each queue and its value at the end of each bin, PAUSE
// frames, and delivered bytes.
func TestStoredSeriesMatchTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a rack")
	}
	for _, carried := range []string{"nats", "memory"} {
		t.Run(carried, func(t *testing.T) {
			c, address := startCollector(t)
			dir := t.TempDir()
			out, err := exec.Command(program, "run", "--scheme", "dcqcn", "--duration", "8ms", "--bus", carried, "--telemetry="+address, "--output", dir).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text, err := os.ReadFile(filepath.Join(dir, "series.json"))
			if err != nil {
				t.Fatal(err)
			}
			var schemes map[string]measure.RunSeries
			if err := json.Unmarshal(text, &schemes); err != nil {
				t.Fatal(err)
			}
			want := schemes["dcqcn"]
			bin, bins := int64(want.Bin), len(want.Goodput[0].Bins)
			same := func(metric string, hold bool, want map[string][]int64) {
				t.Helper()
				if diff := cmp.Diff(want, query(t, c, metric, bin, bins, hold)); diff != "" || len(want) < 2 {
					t.Errorf("%s: in series.json (-) and stored (+):\n%s", metric, diff)
				}
			}
			end, peak, pauses, delivered := map[string][]int64{}, map[string][]int64{}, map[string][]int64{}, map[string][]int64{}
			for _, q := range want.Queues {
				end[q.Port], peak[q.Port] = q.End, q.Peak
			}
			for _, p := range want.Pauses {
				pauses[p.Link] = p.Bins
			}
			for _, d := range want.Goodput {
				delivered[d.Name] = d.Bins
			}
			same("rackfab.port.queue", true, end)
			same("rackfab.port.queue.max", false, peak)
			same("rackfab.port.pauses", false, pauses)
			same("rackfab.flow.delivered", false, delivered)
			if strings.Contains(string(out), "dropped") {
				t.Errorf("%s", out)
			}
		})
	}
}
