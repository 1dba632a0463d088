package topology

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Standing gives, for each node, the settings that change while the rack runs, as
// they are at an instant. A key is that of the node ("xoff"), a value what a file
// would give there; a setting that a file would leave out is not among them.
func (s *Scenario) Standing(at unit.Time) [][]Setting {
	nodes, _ := s.tuned(at + 1)
	list := make([][]Setting, len(nodes))
	for i := range nodes {
		if n := &nodes[i]; n.Kind == NIC {
			list[i] = standing(nicFields, nicTunables, &n.NIC)
		} else {
			list[i] = standing(switchFields, switchTunables, &n.Switch)
		}
	}
	return list
}

// tuned gives the nodes and links as they are set by the changes before an instant.
func (s *Scenario) tuned(before unit.Time) ([]Node, []Link) {
	b, nodes, links := resume(s), slices.Clone(s.Nodes), slices.Clone(s.Links)
	for _, c := range s.Timely() {
		if c.Verb != ChangeSet || c.At >= before {
			continue
		}
		for _, t := range b.tunings(c.Set, place{}) {
			switch {
			case t.link != nil:
				t.link(links)
			case t.nic != nil:
				t.nic(&nodes[t.Node].NIC)
			default:
				t.sw(&nodes[t.Node].Switch)
			}
		}
	}
	for i := range nodes {
		if n := &nodes[i]; n.Kind == Switch && s.converts(i) {
			n.Switch.RTTX.D = s.increment(i, n.Switch.RTTX.D)
		}
	}
	return nodes, links
}

// standing writes the settings of one node.
func standing[T any](fields []field[T], tunables []tunable[T], v *T) (list []Setting) {
	for _, t := range tunables {
		if value := find(fields, t.name).write(v); value != nil {
			list = append(list, Setting{t.name, value.Value})
		}
	}
	return list
}

// Cut tells which links, by their index, are down at an instant.
func (s *Scenario) Cut(at unit.Time) map[int]bool {
	down := map[int]bool{}
	for _, c := range s.Timely() {
		switch {
		case c.At > at:
		case c.Verb == ChangeLinkDown:
			down[s.LinkNamed(c.Link)] = true
		case c.Verb == ChangeLinkUp:
			delete(down, s.LinkNamed(c.Link))
		}
	}
	return down
}
