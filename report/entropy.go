package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxSpreading is the largest number of NICs of a run in the table of entropies.
const maxSpreading = 16

// entropyCounters are the columns of the table of entropies, and the counters of a NIC in them.
var entropyCounters = []struct{ column, counter string }{
	{"skipped", "entropies_skipped"}, {"recycled", "entropies_recycled"}, {"freezes", "entropy_freezes"},
}

// moves are the choices of entropies of one NIC, in the order of entropyCounters.
type moves struct {
	nic    string
	counts [3]uint64
}

// entropyTable has the choices of entropies that followed from feedback, summed over each run,
// and of the NICs with the most of them. A run without any has no row.
func entropyTable(variants []Variant) Table {
	t := Table{Columns: []Column{{Name: "scheme", Text: true}, {Name: "NIC", Text: true}}}
	for _, c := range entropyCounters {
		t.Columns = append(t.Columns, Column{Name: c.column})
	}
	for _, v := range variants {
		list, sum := movesOf(v.Run)
		if len(list) == 0 {
			continue
		}
		t.Rows = append(t.Rows, sum.row(v.Value))
		for _, m := range list[:min(len(list), maxSpreading)] {
			t.Rows = append(t.Rows, m.row(v.Value))
		}
		if more := len(list) - maxSpreading; more > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: results.json has the counters of %s", v.Value, unit.Counted(more, "more NIC")))
		}
	}
	return t
}

// movesOf returns the NICs of a run whose senders reacted to feedback about entropies, those with
// the most reactions first, and the sum over them.
func movesOf(r *measure.Run) (list []moves, sum moves) {
	sum.nic = "all"
	for _, n := range r.Nodes {
		m := moves{nic: n.Name}
		for i, c := range entropyCounters {
			m.counts[i] = n.Counters[c.counter]
			sum.counts[i] += m.counts[i]
		}
		if m.total() > 0 {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b moves) int { return int(b.total()) - int(a.total()) })
	return list, sum
}

func (m *moves) total() (sum uint64) {
	for _, n := range m.counts {
		sum += n
	}
	return sum
}

func (m *moves) row(scheme string) Row {
	row := Row{{Text: scheme}, {Text: m.nic}}
	for _, n := range m.counts {
		row = append(row, Cell{Text: strconv.FormatUint(n, 10)})
	}
	return row
}
