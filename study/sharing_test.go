package study

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/sweep"
)

// oneSweep counts the calls of Sweep, each of which has a progress of its own.
type oneSweep struct {
	memory
	calls *int
}

func (o oneSweep) Sweep(grids ...sweep.Grid) ([]*sweep.Sweep, error) {
	*o.calls++
	return o.memory.Sweep(grids...)
}

// Two flows under pfc share a link equally and fill it; the tables have a row per scheme and a
// column per number of flows.
func TestSharing(t *testing.T) {
	calls := 0
	r, err := Sharing(oneSweep{memory{t.TempDir()}, &calls}, settings("duration", "3ms"), SharingPlan{
		Flows: []int{2, 4}, Rates: []unit.Rate{25 * unit.GigabitPerSec}, Draws: 2, Schemes: []string{"pfc", "hpcc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Files[0].Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**25Gbps: goodput, % of the link's payload rate**\n\n| scheme | 2 | 4 |\n| --- | --: | --: |\n| `pfc` | 100 | 100 |\n", "| `hpcc` | 88 |", "**25Gbps: Jain's index**\n\n| scheme | 2 | 4 |\n| --- | --: | --: |\n| `pfc` | 1.00"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s\nhas no %q", text.String(), want)
		}
	}
	if len(r.Runs) != 8 || calls != 1 {
		t.Errorf("%d runs in %d sweeps", len(r.Runs), calls)
	}
}
