package scenariofile

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
)

// strayClasses reports data classes that a switch does not mark although the scheme
// needs marks. It also reports data classes that a switch maps to another class than
// the NICs do.
func strayClasses(s *topology.Scenario) (list []Fault) {
	scheme, _ := cc.Find(s.Scheme) // the scenario is valid
	said := map[string]bool{}
	add := func(node int, key, what string) {
		if !said[what] {
			said[what] = true
			list = append(list, Fault{Key: s.Nodes[node].Name + "." + key, What: what})
		}
	}
	used := classesInUse(s)
	for i, n := range s.Nodes {
		if n.Kind != topology.Switch {
			continue
		}
		m := s.DSCPMapAt(i)
		for class := range fabric.Priority(fabric.Priorities) {
			if !used[class] {
				continue
			}
			dscp, _ := s.CodePoint(class) // the scenario is valid
			if at := m[dscp]; at != class {
				add(i, "dscp", fmt.Sprintf("DSCP %d is in class %d here but in class %d at the NICs, which a PAUSE of class %d does not pause", dscp, at, class, at))
				continue
			}
			if scheme.Marking != cc.MarkNone && !n.Switch.IsLossless(class) && n.Switch.Marking[class] == "" {
				add(i, "marking", fmt.Sprintf("class %d is lossy and has no marking law, so %s gets no marks from it: want {%d: %s}, or none if intended",
					class, s.Scheme, class, scheme.Marking))
			}
		}
	}
	return list
}

// classesInUse returns the classes with data of flows or commands.
func classesInUse(s *topology.Scenario) (used [fabric.Priorities]bool) {
	for _, f := range s.Flows {
		used[f.Class] = true
	}
	for i := range s.Commands {
		used[s.Commands[i].Class] = true
	}
	return used
}

// checkClassOf checks that NICs can send data in a class: the class needs a code
// point, and must differ from the control class of each NIC.
func (b *builder) checkClassOf(class fabric.Priority, at place, nics ...int) {
	if _, ok := b.s.CodePoint(class); !ok {
		b.fault(at, "no DSCP maps to class %d, want one in dscp, like {%d: %d}", class, topology.ClassSelector(class), class)
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
	b.checkClassOf(topology.DataClass, b.top.of("dscp"))
	for i := range b.s.Nodes {
		n := &b.s.Nodes[i].NIC
		if b.s.Nodes[i].Kind != topology.NIC {
			continue
		}
		b.checkClassOf(n.ControlClass, b.nodes[i].of("control_class"))
		for _, share := range n.Engine.Shaping {
			b.checkClassOf(share.Class, b.nodes[i].of("shaping"))
		}
	}
}
