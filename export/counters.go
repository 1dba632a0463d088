package export

import (
	"maps"
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/sweep"
)

// Counters returns a table of the runs' counters, one row per nonzero counter. The
// counters of a whole node have no port and no class.
func Counters(runs ...*measure.Run) *sweep.Table {
	var rows [][]any
	for _, run := range runs {
		for _, n := range run.Nodes {
			add := func(port, peer, class string, counters map[string]uint64) {
				for _, name := range slices.Sorted(maps.Keys(counters)) {
					rows = append(rows, []any{run.Scheme, n.Name, port, peer, class, name, int64(counters[name])})
				}
			}
			add("", "", "", n.Counters)
			for _, p := range n.Ports {
				for _, c := range p.Classes {
					all := onset(c.Onset)
					maps.Copy(all, c.Counters)
					add(strconv.Itoa(p.Port), p.Peer, strconv.Itoa(c.Class), all)
				}
			}
		}
	}
	columns := append(sweep.Text.Columns("scheme", "node", "port", "peer", "class", "counter"), sweep.Integer.Columns("value")...)
	return sweep.NewTable("counters", columns, rows)
}

// onset returns the instants that have occurred, as counters.
func onset(o fabric.Onset) map[string]uint64 {
	all := map[string]uint64{"first_ce_ps": uint64(o.CE), "first_pause_sent_ps": uint64(o.PauseSent), "first_pause_received_ps": uint64(o.PauseReceived)}
	maps.DeleteFunc(all, func(_ string, at uint64) bool { return at == 0 })
	return all
}
