package groups

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// traffic is the expected traffic of a run, in frames. Every data packet counts as two
// frames, itself and its ACK, at each node and link of its path. Switches spread it
// evenly over the links of shortest paths.
type traffic struct {
	s     *topology.Scenario
	ends  [][]topology.End
	nodes []float64         // handled by each node
	links []float64         // carried by each link, in both directions
	from  []map[int]float64 // packets to the hosts of each switch, by the sender's switch
}

// expect returns the traffic of the flows and commands of a scenario; without any, that
// of every host sending as much to every other.
func expect(s *topology.Scenario) *traffic {
	t := &traffic{
		s: s, ends: s.PortMap(), nodes: make([]float64, len(s.Nodes)), links: make([]float64, len(s.Links)), from: make([]map[int]float64, len(s.Nodes)),
	}
	for i := range s.Flows {
		if f := &s.Flows[i]; f.Size != topology.Posted {
			t.add(f.From, f.To, t.packets(f.From, f.Size, f.Start))
		}
	}
	for h, k := range s.Sends() {
		step := h.At(k)
		t.add(h.Node, int(step.Peer), t.packets(h.Node, unit.Bytes(step.Amount), 0))
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		for _, from := range c.From {
			for _, to := range c.To {
				t.add(from, to, float64(c.Count)*t.packets(from, c.Bytes()/unit.Bytes(max(c.Count, 1)), c.At))
			}
		}
	}
	if len(s.Flows)+len(s.Commands) == 0 {
		t.uniform()
	}
	for to := range t.from {
		t.spread(to)
	}
	for i := range t.nodes {
		t.nodes[i]++ // an idle node takes part in the run too
	}
	return t
}

// packets returns how many data packets a host sends at most for a message of the given
// size, by the end of the run.
func (t *traffic) packets(host int, size unit.Bytes, start unit.Time) float64 {
	most := t.s.Links[t.ends[host][0].Link].Rate.In(max(t.s.Duration-start, 0))
	if size == topology.Endless || size > most {
		size = most
	}
	return max(1, float64(size)/float64(t.s.Nodes[host].NIC.Payload))
}

// add adds packets from one host to another, at both and at their links.
func (t *traffic) add(from, to int, packets float64) {
	t.nodes[from] += 2 * packets
	t.nodes[to] += 2 * packets
	first, last := t.ends[from][0], t.ends[to][0]
	t.links[first.Link] += 2 * packets
	if first.Link == last.Link {
		return
	}
	t.links[last.Link] += 2 * packets
	t.toward(last.Peer, first.Peer, packets)
}

// toward adds packets from the hosts of one switch to those of another or the same.
func (t *traffic) toward(to, from int, packets float64) {
	if t.from[to] == nil {
		t.from[to] = map[int]float64{}
	}
	t.from[to][from] += packets
}

// uniform adds a packet from each host on average, spread over all hosts.
func (t *traffic) uniform() {
	hosts, all := make([]float64, len(t.nodes)), 0.0 // by switch
	for i := range t.s.NodesOf(topology.NIC) {
		e := t.ends[i][0]
		hosts[e.Peer]++
		all++
		t.nodes[i] += 4
		t.links[e.Link] += 4
	}
	for to, n := range hosts {
		for from, m := range hosts {
			if n*m > 0 {
				t.toward(to, from, n*m/all)
			}
		}
	}
}

// spread adds the packets to the hosts of a switch at all switches and links between.
func (t *traffic) spread(to int) {
	if t.from[to] == nil {
		return
	}
	order, hops := t.nearest(to)
	packets := make([]float64, len(t.nodes))
	for from, n := range t.from[to] {
		packets[from] = n
	}
	for i := len(order) - 1; i >= 0; i-- {
		at := order[i]
		n := packets[at]
		t.nodes[at] += 2 * n
		if n > 0 && at != to {
			t.pass(at, n, packets, hops)
		}
	}
}

// pass spreads n packets at a switch over the links to switches that are one hop nearer
// to their target.
func (t *traffic) pass(at int, n float64, packets []float64, hops []int) {
	ways := 0.0
	for _, e := range t.ends[at] {
		if hops[e.Peer] == hops[at]-1 {
			ways++
		}
	}
	for _, e := range t.ends[at] {
		if hops[e.Peer] == hops[at]-1 {
			t.links[e.Link] += 2 * n / ways
			packets[e.Peer] += n / ways
		}
	}
}

// nearest returns the switches in the order of their distance from one of them, and
// that distance by node, counted from 1; 0 for the other nodes.
func (t *traffic) nearest(to int) (order, hops []int) {
	hops = make([]int, len(t.nodes))
	hops[to], order = 1, []int{to}
	for i := 0; i < len(order); i++ {
		at := order[i]
		for _, e := range t.ends[at] {
			if hops[e.Peer] == 0 && t.s.Nodes[e.Peer].Kind == topology.Switch {
				hops[e.Peer] = hops[at] + 1
				order = append(order, e.Peer)
			}
		}
	}
	return order, hops
}
