package launch

import (
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/groups"
	"github.com/rackfab/rackfab/services/worker"
)

// Groups cuts the rack of s into a group for each of some processes, at least 1.
func Groups(s *topology.Scenario, processes int) [][]topology.Node {
	cut := groups.New(s, processes)
	list := make([][]topology.Node, len(cut.Work))
	for i, n := range s.Nodes {
		list[cut.Of[i]] = append(list[cut.Of[i]], n)
	}
	return list
}

// Role returns the command and the flags of the process of some nodes. The process has
// the name of the first one.
func Role(nodes []topology.Node) (role string, flags []string) {
	return worker.Role(worker.Group(nodes))
}
