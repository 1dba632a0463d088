package topology

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
)

// Traffic classes of flows and of control frames unless the scenario says otherwise:
// data on DSCP 26 in class 3 and congestion notification on DSCP 48 in class 6 is the
// common RoCE deployment.
const (
	DataClass    = fabric.Priority(3)
	ControlClass = fabric.Priority(6)
)

// CodePoint puts a DSCP, 0 to 63, into a traffic class.
type CodePoint struct {
	DSCP  uint8
	Class fabric.Priority
}

// DSCPMap gives the traffic class of each code point at the NICs, and at the switches
// that say nothing else: by default data, the class selectors (RFC 2474 §4.2.2), and
// class 0 for everything else.
func (s *Scenario) DSCPMap() (m [64]fabric.Priority) {
	m[fabric.DataDSCP] = DataClass
	for class := range fabric.Priority(fabric.Priorities) {
		m[selector(class)] = class
	}
	for _, c := range s.DSCP {
		m[c.DSCP] = c.Class
	}
	return m
}

// DSCPMapAt gives the traffic class of each code point at a node.
func (s *Scenario) DSCPMapAt(node int) [64]fabric.Priority {
	m := s.DSCPMap()
	for _, c := range s.Nodes[node].Switch.DSCP {
		m[c.DSCP] = c.Class
	}
	return m
}

// CodePoint gives the DSCP of frames of a class: that of data for data's class and the
// class selector for any other, if they are in the class, else the lowest that is. It
// is false if there is none.
func (s *Scenario) CodePoint(class fabric.Priority) (uint8, bool) {
	m, common := s.DSCPMap(), selector(class)
	if class == DataClass {
		common = fabric.DataDSCP
	}
	if m[common] == class {
		return common, true
	}
	i := slices.Index(m[:], class)
	return uint8(max(i, 0)), i >= 0
}

func selector(class fabric.Priority) uint8 { return 8 * uint8(class) }

// dscpField is a mapping from code points to classes.
func dscpField[T any](doc string, at func(*T) *[]CodePoint) field[T] {
	return field[T]{
		meta: meta{key: "dscp", doc: doc}, schema: dscpSchema(),
		read: func(t *T, n *yaml.Node) error {
			list, err := readCodePoints(n)
			if err == nil {
				*at(t) = list
			}
			return err
		},
		write: func(t *T) *yaml.Node {
			if len(*at(t)) == 0 {
				return nil
			}
			m := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			for _, c := range *at(t) {
				m.Content = append(m.Content, plain(strconv.Itoa(int(c.DSCP))), plain(strconv.Itoa(int(c.Class))))
			}
			return m
		},
	}
}

// readCodePoints gives the list in the order of the code points, nil if it is empty.
func readCodePoints(n *yaml.Node) (list []CodePoint, err error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s is no mapping from DSCP to class, like {26: 3, 48: 6}", shown(n))
	}
	for i := 0; i < len(n.Content); i += 2 {
		dscp, err := parseInteger(n.Content[i], 0, 63)
		if err != nil {
			return nil, fmt.Errorf("DSCP %w", err)
		}
		class, err := parseInteger(n.Content[i+1], 0, classes)
		if err != nil {
			return nil, fmt.Errorf("class %w", err)
		}
		list = append(list, CodePoint{uint8(dscp), fabric.Priority(class)})
	}
	slices.SortFunc(list, func(a, b CodePoint) int { return int(a.DSCP) - int(b.DSCP) })
	for i := 1; i < len(list); i++ {
		if list[i].DSCP == list[i-1].DSCP {
			return nil, fmt.Errorf("DSCP %d comes twice", list[i].DSCP)
		}
	}
	return list, nil
}

func dscpSchema() schema {
	return schema{
		"type": "object", "additionalProperties": classSchema(),
		"propertyNames": schema{"pattern": "^([0-9]|[1-5][0-9]|6[0-3])$"},
	}
}

// classField is the traffic class of data, left out where it is DataClass.
func classField[T any](doc string, at func(*T) *fabric.Priority) field[T] {
	f := integerField("class", doc+", "+strconv.Itoa(int(DataClass))+" unless it is given", 0, classes, at)
	write := f.write
	f.write = func(t *T) *yaml.Node {
		if *at(t) == DataClass {
			return nil
		}
		return write(t)
	}
	return f
}

// checkClassOf checks that the data of some NICs can be in a class: that it has a code
// point, and is not the class of what receivers send back.
func (b *builder) checkClassOf(class fabric.Priority, at place, nics ...int) {
	if _, ok := b.s.CodePoint(class); !ok {
		b.fault(at, "no DSCP is in class %d, want one in dscp, like {%d: %d}", class, selector(class), class)
		return
	}
	for _, i := range nics {
		if n := &b.s.Nodes[i]; n.NIC.ControlClass == class {
			b.fault(at, "%d is the class of ACK, NAK and CNP at %s (control_class), want another", class, n.Name)
			return
		}
	}
}

// checkCodePoints checks that every class that NICs send in has a code point.
func (b *builder) checkCodePoints() {
	b.checkClassOf(DataClass, b.top.of("dscp"))
	for i := range b.s.Nodes {
		n := &b.s.Nodes[i].NIC
		if b.s.Nodes[i].Kind != NIC {
			continue
		}
		b.checkClassOf(n.ControlClass, b.nodes[i].of("control_class"))
		for _, share := range n.Engine.Shaping {
			b.checkClassOf(share.Class, b.nodes[i].of("shaping"))
		}
	}
}
