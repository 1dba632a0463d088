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
	return &sweep.Table{
		Name: "counters",
		Columns: []sweep.Column{
			{Name: "scheme"},
			{Name: "node"},
			{Name: "port"},
			{Name: "peer"},
			{Name: "class"},
			{Name: "counter"},
			{Name: "value", Kind: sweep.Integer},
		},
		Rows: rows(func(yield func(...any) bool) {
			for _, run := range runs {
				for i := range run.Nodes {
					if !nodeCounters(run.Scheme, &run.Nodes[i], yield) {
						return
					}
				}
			}
		}),
	}
}

func nodeCounters(scheme string, n *measure.Node, yield func(...any) bool) bool {
	for _, name := range slices.Sorted(maps.Keys(n.Counters)) {
		if !yield(scheme, n.Name, "", "", "", name, int64(n.Counters[name])) {
			return false
		}
	}
	for _, p := range n.Ports {
		for _, c := range p.Classes {
			all := maps.Clone(c.Counters)
			if all == nil {
				all = map[string]uint64{}
			}
			maps.Copy(all, onset(c.Onset))
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if !yield(scheme, n.Name, strconv.Itoa(p.Port), p.Peer, strconv.Itoa(c.Class), name, int64(all[name])) {
					return false
				}
			}
		}
	}
	return true
}

// onset returns the instants that have occurred, as counters.
func onset(o fabric.Onset) map[string]uint64 {
	return fabric.NonZero(func(yield func(string, uint64) bool) {
		_ = yield("first_ce_ps", uint64(o.CE)) && yield("first_pause_sent_ps", uint64(o.PauseSent)) &&
			yield("first_pause_received_ps", uint64(o.PauseReceived))
	})
}
