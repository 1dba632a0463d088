package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Parallel describes the use of the parallel links of a switch: those among which it chooses
// for a host, because they are on equally short paths.
type Parallel struct {
	Switch string       `json:"switch"`
	Links  []LinkOutput `json:"links"` // in the order of ports
}

// LinkOutput is the output of one port.
type LinkOutput struct {
	Port  int        `json:"port"`
	Peer  string     `json:"peer"`  // node at the other end, "spine0#2" on the second of several links
	Bytes unit.Bytes `json:"bytes"` // sent in the whole run, all classes
}

// Total returns the bytes of all links, and those of the busiest one.
func (p *Parallel) Total() (total, most unit.Bytes) {
	for _, l := range p.Links {
		total, most = total+l.Bytes, max(most, l.Bytes)
	}
	return total, most
}

// parallels returns the sets of parallel links that were used, in the order of nodes.
func parallels(s *topology.Scenario, nodes []*NodeResult, ends [][]topology.End) (list []Parallel) {
	table := routes.New(s, ends)
	for i := range s.Nodes {
		for _, ports := range table.Choices(i) {
			p := Parallel{Switch: s.Nodes[i].Name}
			for _, port := range ports {
				p.Links = append(p.Links, LinkOutput{int(port), s.PeerName(ends[i][port]), sentBy(nodes[i], port)})
			}
			if total, _ := p.Total(); total > 0 {
				list = append(list, p)
			}
		}
	}
	return list
}

// hasParallel reports whether a switch of the scenario chooses among links.
func hasParallel(s *topology.Scenario) bool {
	table := routes.New(s, s.PortMap())
	for i := range s.Nodes {
		if len(table.Choices(i)) > 0 {
			return true
		}
	}
	return false
}

// sentBy returns the bytes that a port of a switch sent.
func sentBy(n *NodeResult, port fabric.Port) (sum unit.Bytes) {
	for _, c := range n.Ports[port].Classes {
		sum += unit.Bytes(c.Counters["SAI_QUEUE_STAT_BYTES"])
	}
	return sum
}

// imbalance returns the bytes of the busiest link over the mean of its set, averaged over
// the sets by their bytes: 1 if all links carry the same. It returns 0 without parallel links.
func imbalance(list []Parallel) float64 {
	var all, most unit.Bytes
	for i := range list {
		total, busiest := list[i].Total()
		all, most = all+total, most+busiest*unit.Bytes(len(list[i].Links))
	}
	if all == 0 {
		return 0
	}
	return float64(most) / float64(all)
}

// Busiest returns the n sets of parallel links that carried the most bytes, in their order.
func (r *Run) Busiest(n int) []Parallel {
	bytes := func(p *Parallel) unit.Bytes { total, _ := p.Total(); return total }
	order := make([]int, len(r.Parallel))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(bytes(&r.Parallel[b]) - bytes(&r.Parallel[a])) })
	order = order[:min(n, len(order))]
	slices.Sort(order)
	var list []Parallel
	for _, i := range order {
		list = append(list, r.Parallel[i])
	}
	return list
}
