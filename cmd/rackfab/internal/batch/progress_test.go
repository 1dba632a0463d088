package batch

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// Only unfinished runs are listed, and a common duration only once.
func TestRunning(t *testing.T) {
	const ms = unit.Millisecond
	runs := []*topology.Scenario{{Scheme: "pfc", Duration: 80 * ms}, {Scheme: "qcn", Duration: 80 * ms}, {Scheme: "pcn", Duration: 8 * ms}}
	for _, tt := range []struct {
		at   [3]unit.Time
		want string
	}{
		{[3]unit.Time{}, ""},
		{[3]unit.Time{80 * ms, 40 * ms}, "qcn 40.0 of 80.0 ms"},
		{[3]unit.Time{79 * ms, ms / 2, 0}, "pfc 79.0, qcn 0.5 of 80.0 ms"},
		{[3]unit.Time{0, ms, 2 * ms}, "qcn 1.0 of 80.0 ms, pcn 2.0 of 8.0 ms"},
		{[3]unit.Time{80 * ms, 80 * ms, 8 * ms}, ""},
	} {
		at := make([]engine.Advance, len(runs))
		for i, instant := range tt.at {
			at[i].Time = instant
		}
		if got := running(runs, at); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.at, got, tt.want)
		}
	}
}
