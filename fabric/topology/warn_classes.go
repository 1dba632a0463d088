package topology

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
)

// strayClasses reports data classes that a switch does not mark although the scheme
// needs marks. It also reports data classes that a switch maps to another class than
// the NICs do.
func (s *Scenario) strayClasses() (list []Fault) {
	scheme, _ := cc.Find(s.Scheme) // the scenario is valid
	said := map[string]bool{}
	add := func(node int, key, what string) {
		if !said[what] {
			said[what] = true
			list = append(list, Fault{Key: s.Nodes[node].Name + "." + key, What: what})
		}
	}
	used := s.classesInUse()
	for i, n := range s.Nodes {
		if n.Kind != Switch {
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
func (s *Scenario) classesInUse() (used [fabric.Priorities]bool) {
	for _, f := range s.Flows {
		used[f.Class] = true
	}
	for i := range s.Commands {
		used[s.Commands[i].Class] = true
	}
	return used
}
