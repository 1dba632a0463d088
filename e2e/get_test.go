package e2e

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/measure"
)

// variants runs a scenario that varies a key. It returns the runs by value, without the
// figures that depend on the machine.
func variants(t *testing.T, flags ...string) map[string]*measure.Run {
	t.Helper()
	r := start(t, flags...)
	if log, err := r.end(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	var out struct {
		Variants []struct {
			Value string
			Runs  []*measure.Run
		}
	}
	if err := json.Unmarshal(r.output.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	runs := map[string]*measure.Run{}
	for _, v := range out.Variants {
		run := v.Runs[0]
		run.Wall, run.CPU, run.Envelopes, run.EnvelopeFaults = 0, 0, 0, measure.EnvelopeFaults{}
		run.Cores, run.Groups, run.Processes = 0, 0, 0
		for i := range run.Nodes {
			n := &run.Nodes[i]
			n.Envelopes, n.EnvelopeFaults, n.MaxRSS, n.Program = 0, measure.EnvelopeFaults{}, 0, 0
		}
		runs[v.Value] = run
	}
	return runs
}

// Commands, pacing and NIC pauses have the same digest and the same figures, NIC
// counters included, in memory and with a process per node.
func TestGetIncastOverNATSMatchesMemory(t *testing.T) {
	t.Parallel()
	for scenario, duration := range map[string]string{"get-incast": "200us", "get-mixed": "1050us"} {
		memory := variants(t, scenario, "--bus", "memory", "--duration", duration)
		nats := variants(t, append([]string{scenario, "--duration", duration}, overNATS()...)...)
		if diff := cmp.Diff(memory, nats); diff != "" {
			t.Errorf("%s (-memory +nats):\n%s", scenario, diff)
		}
		for value, run := range memory {
			counters := run.Nodes[0].Counters
			if counters["rx_packets_phy"] == 0 || run.Digest == "" || len(run.Commands) == 0 || run.Commands[0].Bytes == 0 {
				t.Errorf("%s, %s: %+v", scenario, value, run)
			}
		}
	}
}
