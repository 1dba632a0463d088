package launch

import (
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/groups"
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
	flags = []string{"--name", nodes[0].Name}
	if len(nodes) == 1 {
		return string(nodes[0].Kind), flags
	}
	names := map[topology.NodeKind][]string{}
	for _, n := range nodes {
		names[n.Kind] = append(names[n.Kind], n.Name)
	}
	for _, f := range []struct {
		flag string
		kind topology.NodeKind
	}{{"--nics", topology.NIC}, {"--switches", topology.Switch}} {
		if list := names[f.kind]; list != nil {
			flags = append(flags, f.flag, strings.Join(list, ","))
		}
	}
	return "worker", flags
}
