package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/report/chart"
)

// maxBoxes is the largest number of boxes in a tier of a tree.
const maxBoxes = 14

// treeLayout places the nodes of a rack that matter in any run of a folder.
type treeLayout struct {
	s      *topology.Scenario
	boxes  []treeBox
	of     map[string]int // box of a node, by its name
	ties   []chart.Tie    // links, and then the path of the victim
	tiers  int
	widest int // boxes of the widest tier
	left   int // boxes that are not drawn
	victim *victim
	hops   []int // boxes of the victim's path
	parted bool  // the victim has several paths
}

// treeBox is a switch, or some hosts at one switch that have the same part in the scenario.
type treeBox struct {
	nodes       []string
	name, below string
	tier        int
	x           float64
	weight      int64 // PAUSE frames of its links in all runs
}

// layOut places the boxes of a folder.
func layOut(f *Folder) *treeLayout {
	l := &treeLayout{s: f.Scenario, of: map[string]int{}, victim: victimOf(f.Scenario, Variants(&measure.Results{Runs: f.Results.Runs}))}
	ports, weights := f.Scenario.PortMap(), map[string]int64{}
	for _, r := range f.Results.Runs {
		for _, p := range r.Pauses {
			for _, end := range strings.SplitN(p.Link, "->", 2) {
				end, _, _ = strings.Cut(end, "#")
				weights[end] += p.XOFF
			}
		}
	}
	path := l.follow(ports)
	l.place(ports, weights, path)
	for _, node := range path {
		l.hops = append(l.hops, l.of[l.s.Nodes[node].Name])
	}
	l.connect()
	return l
}

// follow returns the nodes of the victim's path, nil without a victim.
func (l *treeLayout) follow(ports [][]topology.End) (path []int) {
	if l.victim == nil {
		return nil
	}
	i := slices.IndexFunc(l.s.Flows, func(f topology.Flow) bool { return f.Name == l.victim.name })
	f, table := l.s.Flows[i], routes.New(l.s, ports)
	path = []int{f.From}
	for h := range table.Path(f.From, f.To) {
		l.parted = l.parted || len(table.Ports(h.Node, f.To)) > 1
		path = append(path, h.Peer)
	}
	return path
}

// place makes a box of each node that matters, hosts of one part together, and places it.
func (l *treeLayout) place(ports [][]topology.End, weights map[string]int64, path []int) {
	tiers, part := tiersOf(l.s, ports), partsOf(l.s)
	matters := make([]bool, len(l.s.Nodes))
	for i := range l.s.Nodes {
		matters[i] = matters[i] || weights[l.s.Nodes[i].Name] > 0 || slices.Contains(path, i) || part[i] != ""
		if matters[i] && l.s.Nodes[i].Kind == topology.NIC && len(ports[i]) > 0 {
			matters[ports[i][0].Peer] = true
		}
	}
	groups, order := map[string][]int{}, []string{}
	for i := range l.s.Nodes {
		n := &l.s.Nodes[i]
		if !matters[i] {
			continue
		}
		key := n.Name
		if n.Kind == topology.NIC && !slices.Contains(path, i) && len(ports[i]) > 0 {
			key = fmt.Sprint(ports[i][0].Peer, part[i])
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	for _, key := range order {
		nodes := groups[key]
		b := treeBox{name: nodeNames(l.s, nodes), tier: tiers[nodes[0]]}
		for _, i := range nodes {
			b.nodes, b.weight = append(b.nodes, l.s.Nodes[i].Name), b.weight+weights[l.s.Nodes[i].Name]
		}
		if slices.ContainsFunc(nodes, func(i int) bool { return slices.Contains(path, i) }) {
			b.weight = 1 << 62
		}
		if len(nodes) > 2 {
			b.below = fmt.Sprintf("%d hosts", len(nodes))
		}
		l.boxes = append(l.boxes, b)
	}
	l.limit()
	l.spread(ports)
}

// limit keeps the boxes with the most PAUSE frames of each tier, and those of the path.
func (l *treeLayout) limit() {
	for _, b := range l.boxes {
		l.tiers = max(l.tiers, b.tier+1)
	}
	for tier := range l.tiers {
		var weights []int64
		for _, b := range l.boxes {
			if b.tier == tier {
				weights = append(weights, b.weight)
			}
		}
		l.widest = max(l.widest, min(len(weights), maxBoxes))
		if len(weights) <= maxBoxes {
			continue
		}
		slices.SortFunc(weights, func(a, b int64) int { return cmp.Compare(b, a) })
		room := maxBoxes
		l.boxes = slices.DeleteFunc(l.boxes, func(b treeBox) bool {
			if b.tier != tier {
				return false
			}
			gone := b.weight < weights[maxBoxes-1] || room == 0 && b.weight < 1<<62
			if gone {
				l.left++
			} else {
				room--
			}
			return gone
		})
	}
	for i, b := range l.boxes {
		for _, name := range b.nodes {
			l.of[name] = i
		}
	}
}

// spread places hosts side by side, those of one switch together, a switch above the middle of
// the hosts or switches below it, and the boxes of a tier without any at equal distances.
func (l *treeLayout) spread(ports [][]topology.End) {
	index := map[string]int{}
	for i := range l.s.Nodes {
		index[l.s.Nodes[i].Name] = i
	}
	for tier := range l.tiers {
		var row []int
		for i := range l.boxes {
			if l.boxes[i].tier == tier {
				row = append(row, i)
			}
		}
		if tier == 0 {
			slices.SortStableFunc(row, func(a, b int) int {
				above := func(i int) int { return ports[index[l.boxes[i].nodes[0]]][0].Peer }
				return cmp.Compare(above(a), above(b))
			})
		}
		for k, i := range row {
			b := &l.boxes[i]
			b.x = (float64(k) + 0.5) / float64(len(row))
			if tier != 1 {
				continue
			}
			sum, below := 0.0, 0
			for j := range l.boxes {
				if o := &l.boxes[j]; o.tier == 0 && ports[index[o.nodes[0]]][0].Peer == index[b.nodes[0]] {
					sum, below = sum+o.x, below+1
				}
			}
			if below > 0 {
				b.x = sum / float64(below)
			}
		}
	}
}

// connect adds the links between boxes, and the path of the victim.
func (l *treeLayout) connect() {
	seen := map[[2]int]bool{}
	for _, link := range l.s.Links {
		a, okA := l.of[l.s.Nodes[link.A].Name]
		b, okB := l.of[l.s.Nodes[link.B].Name]
		if pair := [2]int{min(a, b), max(a, b)}; okA && okB && !seen[pair] {
			seen[pair] = true
			l.ties = append(l.ties, chart.Tie{From: a, To: b})
		}
	}
	for i := 1; i < len(l.hops); i++ {
		l.ties = append(l.ties, chart.Tie{From: l.hops[i-1], To: l.hops[i], Mark: chart.Path})
	}
}

// pairs returns the pairs of connected boxes, in both directions.
func (l *treeLayout) pairs() (list [][2]int) {
	for _, t := range l.ties {
		if t.Mark == chart.Plain {
			list = append(list, [2]int{t.From, t.To}, [2]int{t.To, t.From})
		}
	}
	return list
}

// ends returns the boxes of a link "x->y". ok is false if one is not drawn.
func (l *treeLayout) ends(link string) (x, y int, ok bool) {
	from, to, _ := strings.Cut(link, "->")
	to, _, _ = strings.Cut(to, "#") // of parallel links
	x, okX := l.of[from]
	y, okY := l.of[to]
	return x, y, okX && okY
}

// tiersOf returns the distance of each node from the nearest host.
func tiersOf(s *topology.Scenario, ports [][]topology.End) []int {
	tiers, queue := make([]int, len(s.Nodes)), []int{}
	for i := range s.Nodes {
		if tiers[i] = -1; s.Nodes[i].Kind == topology.NIC {
			tiers[i], queue = 0, append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, e := range ports[queue[0]] {
			if tiers[e.Peer] < 0 {
				tiers[e.Peer], queue = tiers[queue[0]]+1, append(queue, e.Peer)
			}
		}
	}
	return tiers
}

// partsOf returns the part of each host in the flows of the scenario, "" for none.
func partsOf(s *topology.Scenario) []string {
	parts := make([]string, len(s.Nodes))
	add := func(node int, part string) {
		if !strings.Contains(parts[node], part) {
			parts[node] += part
		}
	}
	for _, f := range s.Flows {
		switch {
		case s.Bursting(f):
			add(f.From, "sends;")
			add(f.To, "receives;")
		case f.Burst >= 0: // of a workload or program
			add(f.From, "loads;")
			add(f.To, "loads;")
		default:
			add(f.From, "sends alone;")
			add(f.To, "receives alone;")
		}
	}
	return parts
}
