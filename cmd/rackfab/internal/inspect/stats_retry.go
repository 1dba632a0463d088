package inspect

import (
	"slices"
	"strconv"

	"github.com/rackfab/rackfab/report/table"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// retryColumns are the columns of a node whose links have retry, summed over its ports.
var retryColumns = []string{
	"llr_replays", "llr_replayed_frames", "llr_replayed_bytes", "llr_replay_time_ns", "llr_timeouts", "llr_flushes", "llr_discarded_frames",
}

func newRetryTable() *table.Table {
	return table.New(1, slices.Concat([]string{"node"}, retryColumns)...)
}

// retryCells returns the cells of a node, and whether any of its links has replayed a frame. The
// counters of a switch are those of its ports in a running rack, and its own in a folder.
func retryCells(n *rackfabv1.NodeStats) (cells []string, any bool) {
	cells = []string{n.GetNode()}
	for _, name := range retryColumns {
		sum, own := n.GetCounters()[name]
		for _, p := range n.GetPorts() {
			if !own {
				sum += p.GetCounters()[name]
			}
		}
		any = any || sum > 0
		cells = append(cells, strconv.FormatUint(sum, 10))
	}
	return cells, any
}
