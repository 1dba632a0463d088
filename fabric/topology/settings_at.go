package topology

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// NodeSetting is one setting of a node, as in a file.
type NodeSetting struct {
	Key, Value string
	Live       bool // whether a change may set it
}

// NodeSettings returns the settings of a node after the changes before an instant, in
// the order of the schema. For a switch, the marking law of the lossless classes
// without a law of their own follows. Then come the nonzero error rates of links
// towards the node, with keys as in a Setting, and the congestion control of the
// rack.
func (s *Scenario) NodeSettings(node int, before unit.Time) (list []NodeSetting) {
	nodes, links := s.tuned(before)
	n, law := nodes[node], s.lawBefore(before)
	if n.Kind == NIC {
		list = inForce(nicFields, nicTunables, &n.NIC)
	} else {
		list = inForce(switchFields, switchTunables, &n.Switch)
		list = append(list, NodeSetting{Key: "law", Value: string(law), Live: true})
	}
	list = append(list, s.flawsAt(links, node)...)
	return append(list, NodeSetting{Key: "scheme", Value: s.SchemeText(before), Live: true})
}

// lawBefore returns the marking law that the schemes in use need before an instant.
func (s *Scenario) lawBefore(before unit.Time) cc.Marking {
	base, _ := cc.Find(s.Scheme) // the scenario is valid
	r := s.Regime()
	if r == nil {
		return base.Marking
	}
	for _, c := range s.Timely() {
		if c.At < before {
			_ = r.Apply(&c) // the scenario is valid
		}
	}
	return r.Law
}

func inForce[T any](fields []field[T], tunables []tunable[T], t *T) (list []NodeSetting) {
	for _, f := range leaves(fields) {
		value := f.write(t)
		if value == nil {
			continue
		}
		one := NodeSetting{Key: f.key, Value: value.Value}
		if value.Kind != yaml.ScalarNode {
			value.Style = yaml.FlowStyle
			if text, err := yaml.Marshal(value); err == nil {
				one.Value = strings.TrimSpace(string(text))
			}
		}
		one.Live = slices.ContainsFunc(tunables, func(k tunable[T]) bool { return k.name == f.key })
		list = append(list, one)
	}
	return list
}
