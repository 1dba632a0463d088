package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
)

// Tree is the picture of the congestion trees of a folder: a panel per scheme with the links
// that were paused, the roots, and the path of the flow in the findings.
type Tree struct {
	Name, Caption string
	*chart.Graph
}

// TreeOf draws the congestion trees of a folder, nil if no link was paused. name is its file name.
func TreeOf(name string, f *Folder) *Tree {
	if !slices.ContainsFunc(f.Results.Runs, func(r *measure.Run) bool { return len(r.Pauses) > 0 }) {
		return nil
	}
	l := layOut(f)
	g := &chart.Graph{Title: "Congestion trees", Tiers: l.tiers, Columns: 1, Legend: []chart.Legend{
		{Name: "PAUSE frames, towards the paused node", Mark: chart.Hot, Arrow: true}, {Name: "root", Mark: chart.Hot},
	}}
	if l.victim != nil {
		g.Legend = append(g.Legend, chart.Legend{Name: l.path(), Mark: chart.Path, Arrow: true}, chart.Legend{Name: "its ends", Mark: chart.Path})
	}
	var calm []string
	for _, r := range f.Results.Runs {
		if len(r.Pauses) == 0 {
			calm = append(calm, r.Scheme)
			continue
		}
		g.Panels = append(g.Panels, l.panel(r))
	}
	if l.widest <= 5 && len(g.Panels) > 1 {
		g.Columns = 2
	}
	caption := "x->y with n: x sent n PAUSE frames (XOFF, refreshes included) in the whole run, which paused y. A root sent PAUSE and was not paused itself: " +
		"below its name is its longest queue in the run. Hosts with the same part in the scenario share a box."
	if calm != nil {
		caption += fmt.Sprintf(" No link was paused under %s.", enumerated(calm))
	}
	if l.left > 0 {
		caption += fmt.Sprintf(" Not drawn for lack of room: %s with fewer PAUSE frames.", unit.Counted(l.left, "part"))
	}
	return &Tree{name, caption, g}
}

// trees returns the tree of each folder, nil for a folder without a paused link. The files of
// several folders are numbered.
func trees(runs []*Folder) []*Tree {
	list := make([]*Tree, len(runs))
	for i, f := range runs {
		name := "tree"
		if len(runs) > 1 {
			name = fmt.Sprintf("tree-%d", i+1)
		}
		list[i] = TreeOf(name, f)
	}
	return list
}

// panel draws the tree of a run.
func (l *treeLayout) panel(r *measure.Run) chart.GraphPanel {
	p := chart.GraphPanel{Title: r.Scheme, Aside: asideTree(r)}
	frames := map[[2]int]int64{} // by boxes
	sent, paused := make([]bool, len(l.boxes)), make([]bool, len(l.boxes))
	for _, one := range r.Pauses {
		if x, y, ok := l.ends(one.Link); ok && one.XOFF > 0 {
			frames[[2]int{x, y}] += one.XOFF
			sent[x], paused[y] = true, true
		}
	}
	for i, b := range l.boxes {
		box := chart.Box{Name: b.name, Below: b.below, X: b.x, Tier: b.tier}
		switch {
		case sent[i] && !paused[i]:
			box.Mark, box.Below = chart.Hot, cmp.Or(longestQueue(r, b.nodes), b.below)
		case l.victim != nil && (i == l.hops[0] || i == l.hops[len(l.hops)-1]):
			box.Mark = chart.Path
		}
		p.Boxes = append(p.Boxes, box)
	}
	p.Ties = slices.Clone(l.ties)
	for _, pair := range l.pairs() {
		if n := frames[pair]; n > 0 {
			p.Ties = append(p.Ties, chart.Tie{From: pair[0], To: pair[1], Mark: chart.Hot, Label: fmt.Sprint(n)})
		}
	}
	return p
}

// longestQueue returns where the longest queue of the nodes led in the run, and its length, "to r1
// 3.75 MB", or "" if they had none.
func longestQueue(r *measure.Run, nodes []string) string {
	port, longest := "", int64(0)
	if r.Series == nil {
		return ""
	}
	for _, q := range r.Series.Queues {
		if x, _, _ := strings.Cut(q.Port, "->"); slices.Contains(nodes, x) && slices.Max(q.Peak) > longest {
			port, longest = q.Port, slices.Max(q.Peak)
		}
	}
	if port == "" {
		return ""
	}
	_, to, _ := strings.Cut(port, "->")
	if longest < 1e6 {
		return fmt.Sprintf("to %s %.0f KB", to, float64(longest)/1e3)
	}
	return fmt.Sprintf("to %s %.2f MB", to, float64(longest)/1e6)
}

// path names the line of the victim's path.
func (l *treeLayout) path() string {
	if l.parted {
		return "one of the paths of " + l.victim.name
	}
	return "path of " + l.victim.name
}

// nodeNames returns the name of the box of some hosts: "h2", "h2, h3", "h2 to h15".
func nodeNames(s *topology.Scenario, nodes []int) string {
	first, last := s.Nodes[nodes[0]].Name, s.Nodes[nodes[len(nodes)-1]].Name
	switch {
	case len(nodes) == 1:
		return first
	case len(nodes) == 2:
		return first + ", " + last
	default:
		return first + " to " + last
	}
}
