package measure

import (
	"iter"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Port is one port of a node, with the traffic classes that were used.
type Port struct {
	Port    int     `json:"port"` // port number
	Peer    string  `json:"peer"` // node at the other end
	Classes []Class `json:"classes,omitempty"`
}

// Class is one traffic class of a port at the end of the run. For a switch it holds the
// counters of the egress queue, of the ingress priority group and of PFC, under their
// names in the Switch Abstraction Interface. The counters of a NIC are among the
// node's.
type Class struct {
	Class int `json:"class"`
	fabric.Onset
	Counters map[string]uint64 `json:"counters,omitempty"` // nonzero counters
}

// counting is implemented by machines that keep counters besides their notes.
type counting interface {
	Counters() iter.Seq2[string, uint64]
	ClassCounters() iter.Seq2[fabric.Port, fabric.ClassCounters]
}

// Count reads the nonzero counters of the node's machine, and its stuck buffers, at the end of the run.
func (r *Recorder) Count(m fabric.Machine) {
	r.result.Stuck = StuckOf(m)
	c, ok := m.(counting)
	if !ok {
		return
	}
	r.result.Counters = fabric.NonZero(c.Counters())
	for port, class := range c.ClassCounters() {
		p := &r.result.Ports[port]
		p.Classes = append(p.Classes, Class{int(class.Class), class.Onset, fabric.NonZero(class.Counters)})
	}
}

// counted lists the ports of a node.
func counted(s *topology.Scenario, ends []topology.End, n *NodeResult) (list []Port) {
	for i, end := range ends {
		list = append(list, Port{i, s.PeerName(end), n.Ports[i].Classes})
	}
	return list
}
