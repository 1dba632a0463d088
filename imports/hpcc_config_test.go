package imports

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/topology"
)

// IMP-4: ENABLE_PFC, ENABLE_IRN and LB_MODE of ConWeave's fork select class, scheme and routing, or are a note.
func TestHPCCClassesAndRouting(t *testing.T) {
	for _, c := range []struct {
		config, scheme  string
		pfc             topology.Toggle
		selective       bool
		routing, missed string
	}{
		{"CC_MODE 1\nENABLE_PFC 1\nENABLE_IRN 0\nLB_MODE 0", "dcqcn", topology.ByScheme, false, "ecmp", ""},
		{"CC_MODE 1\nENABLE_PFC 0\nENABLE_IRN 1\nLB_MODE 2", "irn", topology.ByScheme, false, "drill", ""},
		{"CC_MODE 1\nENABLE_PFC 1\nENABLE_IRN 1", "dcqcn", topology.ByScheme, true, "ecmp", ""},
		{"CC_MODE 1\nENABLE_PFC 0\nENABLE_IRN 0", "dcqcn", topology.Off, false, "ecmp", ""},
		{"CC_MODE 3\nENABLE_PFC 0\nENABLE_IRN 1\nLB_MODE 6", "hpcc", topology.Off, true, "flowlet", ""},
		{"CC_MODE 1\nLB_MODE 3", "dcqcn", topology.ByScheme, false, "ecmp", "config.txt:2: LB_MODE 3 is CONGA, which rackfab does not have: switches have ecmp, so that the run is another one"},
		{"CC_MODE 1\nLB_MODE 9", "dcqcn", topology.ByScheme, false, "ecmp", "config.txt:2: LB_MODE 9 is ConWeave, which rackfab does not have: switches have ecmp, so that the run is another one"},
		{"CC_MODE 1\nLB_MODE 77", "dcqcn", topology.ByScheme, false, "ecmp", "config.txt:2: LB_MODE 77 is unknown: switches have ecmp, so that the run is another one"},
	} {
		s, notes := imported(t, smallTopology, smallFlows, &c.config)
		sw, nic := s.Nodes[4].Switch, s.Nodes[0].NIC
		selective := nic.Recovery == cc.RecoverySelective
		if routing, _ := balance.Named(c.routing); s.Scheme != c.scheme || sw.Queues.PFC != c.pfc || selective != c.selective || sw.Routing != routing {
			t.Errorf("%q: scheme %s, PFC %v, recovery %s, routing %s", c.config, s.Scheme, sw.Queues.PFC, nic.Recovery, sw.Routing)
		}
		if !strings.Contains(notes, c.missed) || strings.Contains(notes, "ignored") {
			t.Errorf("%q: notes\n%s\nlack %q", c.config, notes, c.missed)
		}
	}
}
