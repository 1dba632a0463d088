package inspect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"

	"github.com/rackfab/rackfab/report/table"
)

// queueColumn is a counter of a traffic class of a port. %d in the counter's name is
// the class.
type queueColumn struct {
	name, ofSwitch, ofNIC string
}

// queueColumns are the columns of a class, in the order of its cells.
var queueColumns = []queueColumn{
	{"sent_frames", "SAI_QUEUE_STAT_PACKETS", "tx_prio%d_packets"},
	{"sent_bytes", "SAI_QUEUE_STAT_BYTES", "tx_prio%d_bytes"},
	{"peak_bytes", "SAI_QUEUE_STAT_WATERMARK_BYTES", ""},
	{"ce_frames", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", ""},
	{"dropped", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "rx_prio%d_discards"},
	{"pfc_sent", "SAI_PORT_STAT_PFC_%d_TX_PKTS", "tx_prio%d_pause"},
	{"pfc_received", "SAI_PORT_STAT_PFC_%d_RX_PKTS", "rx_prio%d_pause"},
}

// nicColumns are the columns of a NIC, in the order of its cells.
var nicColumns = []string{
	"tx_acks", "rx_acks", "tx_naks", "packet_seq_err", "np_cnp_sent", "rp_cnp_handled", "rp_cnp_ignored", "retransmitted_packets", "out_of_sequence",
	"local_ack_timeout_err",
}

// partColumns are the columns of the NICs that have a part of their own: address translation,
// RTT probes, a receiver of datagrams, flows with an entropy per packet.
var partColumns = [][]string{
	{"atu_cache_hits", "atu_cache_misses"},
	{"tx_probes", "rx_probes", "tx_probe_responses", "rx_probe_responses"},
	{"rx_datagrams", "rx_datagrams_missing"},
	{"entropies_skipped", "entropies_recycled", "entropy_freezes"},
}

// counterTables are the tables of traffic classes, NICs and link-layer retry.
type counterTables struct {
	queues, nics *table.Table
	retry        *table.Table
	parts        []*table.Table // in the order of partColumns
}

func newCounterTables() counterTables {
	columns := []string{"node", "peer", "class"}
	for _, c := range queueColumns {
		columns = append(columns, c.name)
	}
	columns = append(columns, "first_ce", "first_pause_sent", "first_pause_received")
	t := counterTables{queues: table.New(3, columns...), nics: nicTable(nicColumns), retry: newRetryTable()}
	for _, p := range partColumns {
		t.parts = append(t.parts, nicTable(p))
	}
	return t
}

// nicTable returns a table of counters with a row per NIC.
func nicTable(counters []string) *table.Table {
	return table.New(1, slices.Concat([]string{"nic"}, counters)...)
}

// all returns the tables in the order in which they are printed.
func (t *counterTables) all() []*table.Table {
	return slices.Concat([]*table.Table{t.queues, t.nics}, t.parts, []*table.Table{t.retry})
}

// add appends the rows of a node: one per traffic class with any activity, and those of a
// NIC.
func (t *counterTables) add(n *rackfabv1.NodeStats) {
	for _, p := range n.GetPorts() {
		for class := range fabric.Priorities {
			cells := []string{n.GetNode(), p.GetPeer(), strconv.Itoa(class)}
			if more, any := classCells(n, classOf(p, class), class); any {
				t.queues.Strings(append(cells, more...)...)
			}
		}
	}
	if _, ok := n.GetCounters()["tx_packets_phy"]; ok || n.GetCounters()["rx_packets_phy"] > 0 {
		t.nics.Strings(nicCells(n, nicColumns)...)
	}
	if cells, any := retryCells(n); any {
		t.retry.Strings(cells...)
	}
	for i, columns := range partColumns {
		counted := func(name string) bool { _, ok := n.GetCounters()[name]; return ok }
		if slices.ContainsFunc(columns, counted) { // a folder has no counters that are 0
			t.parts[i].Strings(nicCells(n, columns)...)
		}
	}
}

// nicCells returns the cells of a NIC in a table of counters.
func nicCells(n *rackfabv1.NodeStats, counters []string) []string {
	cells := []string{n.GetNode()}
	for _, name := range counters {
		cells = append(cells, strconv.FormatUint(n.GetCounters()[name], 10))
	}
	return cells
}

// classOf returns the statistics of a traffic class of a port, or nil if it had no
// activity.
func classOf(p *rackfabv1.PortStats, class int) *rackfabv1.ClassStats {
	for _, c := range p.GetClasses() {
		if int(c.GetClass()) == class {
			return c
		}
	}
	return nil
}

// ofClass substitutes the class in the name of a counter.
func ofClass(name string, class int) string {
	return strings.ReplaceAll(name, "%d", strconv.Itoa(class))
}

// classCells returns the cells of a class, and whether any of them is not zero.
func classCells(n *rackfabv1.NodeStats, c *rackfabv1.ClassStats, class int) (cells []string, any bool) {
	for _, column := range queueColumns {
		value := c.GetCounters()[ofClass(column.ofSwitch, class)]
		if own := ofClass(column.ofNIC, class); own != "" && value == 0 {
			value = n.GetCounters()[own]
		}
		any = any || value > 0
		cells = append(cells, strconv.FormatUint(value, 10))
	}
	for _, at := range []int64{c.GetFirstCePs(), c.GetFirstPauseSentPs(), c.GetFirstPauseReceivedPs()} {
		cell := "-"
		if at > 0 {
			cell = unit.Time(at).String()
		}
		any = any || at > 0
		cells = append(cells, cell)
	}
	return cells, any
}
