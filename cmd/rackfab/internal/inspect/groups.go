package inspect

import (
	"fmt"
	"io"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/groups"

	"github.com/rackfab/rackfab/report/table"
)

// showGroups prints a cut of the rack into n groups.
func showGroups(w io.Writer, s *topology.Scenario, n int) error {
	if n < 1 || n > len(s.Nodes) {
		return fmt.Errorf("--groups %d: must be 1 to %d, the number of nodes", n, len(s.Nodes))
	}
	cut, all, nodes := groups.New(s, n), 0.0, make([]int, n)
	for _, work := range cut.Work {
		all += work
	}
	members := table.New(1, "node", "kind", "group")
	for i, node := range s.Nodes {
		members.Row(node.Name, node.Kind, cut.Of[i])
		nodes[cut.Of[i]]++
	}
	work := table.New(1, "group", "nodes", "frames", "share")
	for g, frames := range cut.Work {
		work.Row(g, nodes[g], fmt.Sprintf("%.0f", frames), fmt.Sprintf("%.1f %%", 100*frames/all))
	}
	across := table.New(1, "between", "links", "lookahead", "frames")
	for _, p := range cut.Across(s) {
		across.Row(fmt.Sprintf("%d--%d", p.A, p.B), p.Links, p.Lookahead, fmt.Sprintf("%.0f", p.Frames))
	}
	members.Title, work.Title, across.Title = "nodes", "expected work", "links across"
	return table.WriteAll(w, members, work, across)
}
