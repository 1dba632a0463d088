package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
)

// checkEcho checks that ACKs can echo the load of their path if the scheme needs it. ACKs with
// mirrored ports cannot: the UDP port that names the echo is the port of the data packet. It reports
// each key once.
func (b *builder) checkEcho() {
	if scheme, err := cc.Find(b.s.Scheme); err != nil || scheme.Notification != cc.NotifyLoad {
		return
	}
	reported := map[place]bool{}
	for i, n := range b.s.NodesOf(topology.NIC) {
		if at := b.nodes[i].of("ack_ports"); !reported[at] {
			reported[at] = !b.require(n.NIC.ACKPorts != "mirrored", at,
				"ACKs with mirrored ports cannot carry the load that the scheme %s reacts to, want plain", b.s.Scheme)
		}
	}
}
