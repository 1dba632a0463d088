package topology

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
)

// Default traffic classes of flows and of control frames: data with DSCP 26 in class
// 3, and congestion notification with DSCP 48 in class 6. This is the common RoCE
// deployment.
const (
	DataClass    = fabric.Priority(3)
	ControlClass = fabric.Priority(6)
)

// DSCPMap returns the traffic class of each code point at the NICs, and at the
// switches without a mapping of their own. By default it maps the code point of data,
// and the class selectors (RFC 2474 §4.2.2); all others are in class 0.
func (s *Scenario) DSCPMap() (m [64]fabric.Priority) {
	m[fabric.DataDSCP] = DataClass
	for class := range fabric.Priority(fabric.Priorities) {
		m[ClassSelector(class)] = class
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
	m, common := s.DSCPMap(), ClassSelector(class)
	if class == DataClass {
		common = fabric.DataDSCP
	}
	if m[common] == class {
		return common, true
	}
	i := slices.Index(m[:], class)
	return uint8(max(i, 0)), i >= 0
}

// ClassSelector returns the class selector code point of a class (RFC 2474, section
// 4.2.2): eight times its number.
func ClassSelector(class fabric.Priority) uint8 { return 8 * uint8(class) }
