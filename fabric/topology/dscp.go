package topology

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
)

// Default traffic classes of flows and of control frames: data with DSCP 26 in class
// 3, and congestion notification with DSCP 48 in class 6. This is the common RoCE
// deployment.
const (
	DataClass    = fabric.Priority(3)
	ControlClass = fabric.Priority(6)
)

// CodePoint maps a DSCP, 0 to 63, to a traffic class.
type CodePoint struct {
	DSCP  uint8
	Class fabric.Priority
}

// DSCPMap returns the traffic class of each code point at the NICs, and at the
// switches without a mapping of their own. By default it maps the code point of data,
// and the class selectors (RFC 2474 §4.2.2); all others are in class 0.
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

// DSCPMapAt returns the traffic class of each code point at a node.
func (s *Scenario) DSCPMapAt(node int) [64]fabric.Priority {
	m := s.DSCPMap()
	for _, c := range s.Nodes[node].Switch.DSCP {
		m[c.DSCP] = c.Class
	}
	return m
}

// CodePoint returns the DSCP of frames of a class. It prefers the DSCP of data for
// data's class, and the class selector for the others; if that is mapped to another
// class, it returns the lowest DSCP of the class. It reports false if the class has
// no DSCP.
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

// readCodePoints returns the list in the order of code points, or nil if it is empty.
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

// classField is the traffic class of data. The key is omitted for DataClass.
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

// checkClassOf checks that NICs can send data in a class: the class needs a code
// point, and must differ from the control class of each NIC.
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

// checkCodePoints checks that every class in which NICs send has a code point.
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
