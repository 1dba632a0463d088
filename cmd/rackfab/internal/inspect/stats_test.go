package inspect

import (
	"fmt"
	"strings"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A blank line separates the tables of ports, flows and commands. Empty tables are
// omitted.
func TestStatsTables(t *testing.T) {
	n := &rackfabv1.NodeStats{
		Node: "h0", Ports: []*rackfabv1.PortStats{{Peer: "s0"}}, Flows: []*rackfabv1.FlowStats{{Name: "F0", Scheme: "pcn"}},
		Commands: []*rackfabv1.CommandStats{{Name: "put0"}},
	}
	tables := func() string {
		var out strings.Builder
		if err := statsTable(&out, &rackfabv1.GetStatsResponse{Nodes: []*rackfabv1.NodeStats{n}}, false); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	all := tables()
	for _, want := range []string{"at 0ps\nnode ", "\n\nflow ", "\n\ncommands "} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	n.Ports[0].Classes = []*rackfabv1.ClassStats{{Class: 3, FirstPauseReceivedPs: 2_000_000}}
	n.Counters = map[string]uint64{"tx_packets_phy": 12, "tx_prio3_packets": 11, "rx_prio3_pause": 2, "np_cnp_sent": 5}
	for _, want := range []string{
		"\n\nnode  peer  class  sent_frames ", "\nh0    s0    3      11 ", " 2             -         -                 2us\n",
		"\n\nnic  tx_acks ", "\nh0   0        0        0        0               5 ",
	} {
		if all := tables(); !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	n.Flows = nil
	if some := tables(); strings.Contains(some, "flow ") || !strings.Contains(some, "\n\ncommands ") {
		t.Errorf("without flows:\n%s", some)
	}
}

// Counters of a part that only some NICs have are in a table of these NICs.
func TestStatsOfNICsWithTheirOwnParts(t *testing.T) {
	nodes := []*rackfabv1.NodeStats{
		{Node: "h0", Counters: map[string]uint64{"tx_packets_phy": 1, "atu_cache_misses": 7}},
		{Node: "h1", Counters: map[string]uint64{"tx_packets_phy": 1, "rx_datagrams": 3, "rx_datagrams_missing": 2}},
		{Node: "h2", Counters: map[string]uint64{"tx_packets_phy": 1}},
	}
	var out strings.Builder
	if err := statsTable(&out, &rackfabv1.GetStatsResponse{Nodes: nodes}, false); err != nil {
		t.Fatal(err)
	}
	fields := strings.Join(strings.Fields(strings.ReplaceAll(out.String(), "─", "")), " ")
	for _, want := range []string{"nic atu_cache_hits atu_cache_misses h0 0 7 nic", "nic rx_datagrams rx_datagrams_missing h1 3 2"} {
		if !strings.Contains(fields, want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(fields, "tx_probes") {
		t.Errorf("no NIC sends probes:\n%s", &out)
	}
}

// The table of link-layer retry sums the ports of a switch, and omits nodes without a replay.
func TestStatsOfLinksWithRetry(t *testing.T) {
	port := func(frames uint64) *rackfabv1.PortStats {
		return &rackfabv1.PortStats{Counters: map[string]uint64{"llr_replayed_frames": frames, "llr_replays": 1}}
	}
	nodes := []*rackfabv1.NodeStats{
		{Node: "h0", Counters: map[string]uint64{"llr_buffer_peak_bytes": 3}},
		{Node: "s0", Ports: []*rackfabv1.PortStats{port(5), port(7)}},
		{Node: "s1", Ports: []*rackfabv1.PortStats{port(1)}, Counters: map[string]uint64{"llr_replayed_frames": 9}},
	}
	var out strings.Builder
	if err := statsTable(&out, &rackfabv1.GetStatsResponse{Nodes: nodes}, false); err != nil {
		t.Fatal(err)
	}
	fields := strings.Join(strings.Fields(strings.ReplaceAll(out.String(), "─", "")), " ")
	if want := "llr_discarded_frames s0 2 12 0 0 0 0 0 s1 1 9 0 0 0 0 0"; !strings.Contains(fields, want) {
		t.Errorf("no %q in\n%s", want, &out)
	}
}

// Many flows have quantiles and the flows that sent the most, or all with --all.
func TestStatsOfManyFlows(t *testing.T) {
	n := &rackfabv1.NodeStats{Node: "h0"}
	for i := range int64(101) {
		n.Flows = append(n.Flows, &rackfabv1.FlowStats{Name: fmt.Sprintf("f%d", i), Scheme: "pcn", RateBps: i * 1e9, SentBytes: i * 10, AckedBytes: i})
	}
	text := func(every bool) string {
		return strings.Join(strings.Fields(flowTable([]*rackfabv1.NodeStats{n}, every).String()), " ")
	}
	for _, want := range []string{
		"101 flows: quantiles of each column, and the 8 that sent the most; --all lists every flow",
		"min 0bps 0 0 p10 10Gbps 100 10 p50 50Gbps 500 50 p90 90Gbps 900 90 max 100Gbps 1000 100 ─", " f100 h0 pcn 100Gbps 1000 100 f99 h0 ", "f93 h0 pcn 93Gbps 930 93",
	} {
		if got := text(false); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if got := text(false); strings.Contains(got, "f92 ") {
		t.Errorf("more than 8 flows: %s", got)
	}
	if got := text(true); !strings.Contains(got, " f0 h0 ") || strings.Contains(got, "quantiles") {
		t.Errorf("not every flow: %s", got)
	}
	n.Flows = n.Flows[:fewFlows]
	if got := text(false); !strings.Contains(got, " f0 h0 ") || strings.Contains(got, "quantiles") {
		t.Errorf("few flows are not all listed: %s", got)
	}
}
