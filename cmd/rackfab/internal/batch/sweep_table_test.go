package batch

import (
	"iter"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/sweep"
)

// On a narrow terminal the table of a sweep is without the figures that are the same in all rows. It has them
// where there is room.
func TestSweepOnANarrowTerminal(t *testing.T) {
	grid := &sweep.Table{
		Columns: []sweep.Column{{Name: "scheme", Kind: sweep.Text}, {Name: "tree_ms"}, {Name: "drops"}},
		Rows: iter.Seq2[[]any, error](func(yield func([]any, error) bool) {
			_ = yield([]any{"pfc", 3.1, int64(0)}, nil) && yield([]any{"pcn", 0.0, int64(0)}, nil)
		}),
	}
	for width, want := range map[int][2]string{
		16: {"scheme  tree_ms\n", "\nwithout 1 figure, alike in all rows; table.csv has all\n"},
		80: {"scheme  tree_ms  drops\n", "\npcn     0            0\n"},
	} {
		var b strings.Builder
		if err := printSweep(&b, grid, 1, width); err != nil || !strings.HasPrefix(b.String(), want[0]) || !strings.HasSuffix(b.String(), want[1]) {
			t.Errorf("%d columns, %v:\n%s", width, err, b.String())
		}
	}
}
