package groups

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
)

// spreadOf returns the part of each node, and checks that the groups of all parts contain
// each node once and none is empty.
func spreadOf(t *testing.T, s *topology.Scenario, cores []int) (parts []int, groups [][][]int) {
	t.Helper()
	parts, groups = slices.Repeat([]int{-1}, len(s.Nodes)), Spread(s, cores)
	count := 0
	for w, list := range groups {
		if len(list) == 0 || len(list) > cores[w] {
			t.Fatalf("worker %d of %v has %d groups", w, cores, len(list))
		}
		for _, g := range list {
			if len(g) == 0 || !slices.IsSorted(g) {
				t.Fatalf("worker %d has the group %v", w, g)
			}
			for _, node := range g {
				parts[node] = w
				count++
			}
		}
	}
	if count != len(s.Nodes) || slices.Contains(parts, -1) {
		t.Fatalf("%d nodes in the groups of %d: %v", count, len(s.Nodes), groups)
	}
	return parts, groups
}

// The parts of workers of different speeds cost about as little as those of the best of all
// cuts.
func TestSpreadIsNearTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	total, racks := 0.0, 0
	for racks < 60 {
		s := random(t, r)
		cores := []int{1 + r.IntN(4), 1 + r.IntN(4), 1 + r.IntN(4)}[:2+r.IntN(2)]
		n := len(cores)
		if len(s.Nodes) < n || len(s.Nodes) > 8 {
			continue
		}
		racks++
		speeds := make([]float64, n)
		for w, c := range cores {
			speeds[w] = float64(c)
		}
		parts, _ := spreadOf(t, s, cores)
		exp := expect(s)
		have, best, of := exp.cost(exp.sumUp(parts, n), speeds...), math.Inf(1), make([]int, len(s.Nodes))
		for i := 0; i < len(of); {
			if slices.Contains(of, 0) && slices.Contains(of, 1) && (n == 2 || slices.Contains(of, 2)) {
				best = min(best, exp.cost(exp.sumUp(of, n), speeds...))
			}
			for i = 0; i < len(of) && of[i] == n-1; i++ {
				of[i] = 0
			}
			if i < len(of) {
				of[i]++
				i = 0
			}
		}
		total += have / best
		if have/best > 1.5 {
			t.Errorf("%d nodes, cores %v: cost %.2f times that of the best cut", len(s.Nodes), cores, have/best)
		}
	}
	t.Logf("cost %.3f times that of the best cut on average", total/float64(racks))
	if mean := total / float64(racks); mean > 1.05 {
		t.Errorf("cost is %.2f times that of the best cut on average", mean)
	}
}

// A worker with more cores gets more work, in proportion, and a group for each core. The hosts of a switch
// stay in its group.
func TestSpreadFollowsCores(t *testing.T) {
	s := fatTree(8) // 128 hosts, 80 switches
	cores := []int{1, 4, 2}
	parts, groups := spreadOf(t, s, cores)
	exp := expect(s)
	work := exp.sumUp(parts, len(cores)).Work
	for w, c := range cores {
		if share := work[w] / sum(work) * 7 / float64(c); share > 1.1 {
			t.Errorf("worker %d with %d of 7 cores has %.2f times its share of the work", w, c, share)
		}
		if len(groups[w]) != c {
			t.Errorf("worker %d with %d cores has %d groups", w, c, len(groups[w]))
		}
	}
	of := map[int]int{}
	for w := range groups {
		for g, nodes := range groups[w] {
			for _, n := range nodes {
				of[n] = 10*w + g
			}
		}
	}
	for i := range s.Links {
		if l := &s.Links[i]; s.Nodes[l.A].Kind == topology.NIC && of[l.A] != of[l.B] {
			t.Errorf("host %d is in group %d, its switch in %d", l.A, of[l.A], of[l.B])
		}
	}
}

// A part without links, such as hosts whose switch is elsewhere, is cut too, and a part of
// one switch and its hosts is one group whatever the cores.
func TestSpreadOfFewSwitches(t *testing.T) {
	s := parse(t, `
name: star
duration: 1ms
scheme: pfc
nics: {h0..h3: }
switches: {s0: }
links: [{endpoints: [h0..h3, s0], rate: 40Gbps, delay: 1us}]
`)
	if _, groups := spreadOf(t, s, []int{8}); len(groups[0]) != 1 {
		t.Errorf("one worker: %v", groups)
	}
	for workers := 2; workers <= 5; workers++ {
		spreadOf(t, s, slices.Repeat([]int{3}, workers))
	}
}
