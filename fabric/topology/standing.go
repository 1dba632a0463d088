package topology

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Standing returns, for each node, the values at an instant of the settings that can
// change while the rack runs. Keys are those of the node ("xoff"), and values are
// written as in a file. Settings that a file would omit are left out.
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

// tuned returns the nodes and links with the settings after the changes before an
// instant.
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

// standing returns the settings of one node.
func standing[T any](fields []field[T], tunables []tunable[T], v *T) (list []Setting) {
	for _, t := range tunables {
		if value := find(fields, t.name).write(v); value != nil {
			list = append(list, Setting{t.name, value.Value})
		}
	}
	return list
}

// Cut returns the links, by index, that are down at an instant.
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
