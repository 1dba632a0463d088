package torture

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// mostChanges is the maximum number of changes that a schedule draws. Some consist of two.
const mostChanges = 3

// shortestOutage is the time for which links are down and NICs are frozen, at least; three
// times that at most.
const shortestOutage = 5 * unit.Microsecond

// steer draws changes to a scenario, and returns it with them, in the order of their
// instants. Half of the schedules have none, so that their racks stay lossless.
func steer(draw *rand.Rand, s *topology.Scenario) *topology.Scenario {
	if draw.IntN(2) == 0 {
		return s
	}
	var list []topology.Change
	for i := range 1 + draw.IntN(mostChanges) {
		list = append(list, drawChange(draw, s, i)...)
	}
	slices.SortStableFunc(list, func(a, b topology.Change) int { return int(a.At - b.At) })
	for _, c := range list {
		if next, err := scenariofile.Extend(s, c); err == nil { // otherwise it does not apply to this scenario
			s = next
		}
	}
	return s
}

// drawChange draws a change, with the one that undoes it. Every third is at the start of a step, the
// others between. It returns nothing instead of a burst if there is one NIC.
func drawChange(draw *rand.Rand, s *topology.Scenario, i int) []topology.Change {
	at := stepEnd(s.Duration, draw.IntN(steps-1))
	if draw.IntN(3) > 0 {
		at += unit.Time(draw.Int64N(int64(s.Duration / steps)))
	}
	again := at + shortestOutage + unit.Time(draw.Int64N(int64(2*shortestOutage)))
	hosts := nics(s)
	from := draw.IntN(len(hosts))
	nic, link := hosts[from], s.LinkName(draw.IntN(len(s.Links)))
	switch draw.IntN(6) {
	case 0:
		return []topology.Change{{At: at, Verb: topology.ChangeLinkDown, Link: link}, {At: again, Verb: topology.ChangeLinkUp, Link: link}}
	case 1:
		return []topology.Change{{At: at, Verb: topology.ChangeFreeze, Nodes: []string{nic}}, {At: again, Verb: topology.ChangeThaw, Nodes: []string{nic}}}
	case 2:
		kmin := fmt.Sprintf("%dKB", 5+draw.IntN(30))
		return []topology.Change{{At: at, Verb: topology.ChangeSet, Set: topology.Setting{Key: "switch.kmin", Value: kmin}}}
	case 3:
		if len(s.Flows) > 0 {
			return []topology.Change{{At: at, Verb: topology.ChangeStopFlow, Flow: s.Flows[draw.IntN(len(s.Flows))].Name}}
		}
	}
	if len(hosts) < 2 {
		return nil
	}
	return []topology.Change{{At: at, Verb: topology.ChangeBurst, Burst: topology.BurstSpec{
		Name: fmt.Sprintf("steer%d", i), From: []string{nic}, To: hosts[(from+1+draw.IntN(len(hosts)-1))%len(hosts)], Class: topology.DataClass,
		Flows: 1 + draw.IntN(3), Size: unit.Bytes(1+draw.IntN(16)) * unit.Kilobyte,
	}}}
}

// nics returns the names of the NICs.
func nics(s *topology.Scenario) (names []string) {
	for _, n := range s.Nodes {
		if n.Kind == topology.NIC {
			names = append(names, n.Name)
		}
	}
	return names
}
