package scenariofile

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
)

// reordered reports a class in which a switch sends packets of a flow by several ports while
// flows of the class go back N: a packet out of order is then a lost one.
func (c *collector) reordered(s *topology.Scenario) {
	goingBack := classesGoingBack(s)
	var table *routes.Table
	for i, n := range s.NodesOf(topology.Switch) {
		for class := range fabric.Priority(fabric.Priorities) {
			choice := n.Switch.Profile(class).Routing
			if goingBack[class] == "" || !choice.PerPacket() {
				continue
			}
			if table == nil {
				table = routes.New(s, s.PortMap())
			}
			if !slices.ContainsFunc(table.By(i), func(ports []fabric.Port) bool { return len(ports) > 1 }) {
				continue
			}
			key := "routing"
			if n.Switch.Classes[class].Routing != nil {
				key = join(classKey(class), key)
			}
			c.warn(n.Name, key, "%s reorders packets of class %d, and %s goes back N at each of them: want routing ecmp or flowlet, or selective recovery",
				choice, class, goingBack[class])
		}
	}
}

// untrimmedData reports that NSCC's settings for switches that trim are on, under a scheme that uses
// them, if no switch trims a class with data.
func (c *collector) untrimmedData(s *topology.Scenario) {
	scheme, _ := cc.Find(s.Scheme) // the scenario is valid
	if !scheme.Trim || s.CC.NSCC.Trimming != cc.TrimmingOn {
		return
	}
	used, switches := classesInUse(s), false
	for _, n := range s.NodesOf(topology.Switch) {
		switches = true
		for class := range fabric.Priority(fabric.Priorities) {
			if used[class] && n.Switch.Trims(class, &scheme) {
				return
			}
		}
	}
	if switches && used != [fabric.Priorities]bool{} {
		c.warn("nscc", "trimming", "is on, but no switch trims a class with data, so target delay and timeout are too short: want switches or off")
	}
}

// classesGoingBack returns, by class, the first flow or commands whose packets must arrive in
// order.
func classesGoingBack(s *topology.Scenario) (first [fabric.Priorities]string) {
	for i := range s.Flows {
		if f := &s.Flows[i]; first[f.Class] == "" && s.Recovers(f) == cc.RecoveryGoBackN {
			first[f.Class] = f.Name
		}
	}
	for i := range s.Commands {
		if k := &s.Commands[i]; first[k.Class] == "" && !k.Datagram {
			first[k.Class] = k.Name
		}
	}
	return first
}
