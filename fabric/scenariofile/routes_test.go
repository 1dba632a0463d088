package scenariofile

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
)

const leafSpine = `name: leaf-spine
duration: 1ms
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h3: }
switches: {leaf0..leaf1: , spine0..spine2: }
links:
  - endpoints: [h0..h1, leaf0]
  - endpoints: [h2..h3, leaf1]
  - endpoints: [leaf0..leaf1, spine0..spine2]
`

func TestEqualCostRoutesAreInPortOrder(t *testing.T) {
	s := parsed(t, leafSpine)
	routes := routes.New(s, s.PortMap())
	leaf0, h3 := 4, 3
	if got := routes.Ports(leaf0, h3); !slices.Equal(got, []fabric.Port{2, 3, 4}) {
		t.Errorf("leaf0 reaches h3 by %v", got)
	}
	if got := routes.Ports(leaf0, 1); !slices.Equal(got, []fabric.Port{1}) {
		t.Errorf("leaf0 reaches h1 by %v", got)
	}
	if got := routes.Ports(0, h3); !slices.Equal(got, []fabric.Port{0}) || routes.Ports(h3, h3) != nil {
		t.Errorf("h0 reaches h3 by %v, h3 itself by %v", got, routes.Ports(h3, h3))
	}
}

// The reference implementation relaxes distances until none changes (Bellman-Ford), over
// the links that are up.
func TestRoutesAreShortestPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomRack(t)
		down, up := map[int]bool{}, []topology.Link(nil)
		for i, l := range s.Links {
			if down[i] = rapid.IntRange(0, 4).Draw(t, "down") == 0; !down[i] {
				up = append(up, l)
			}
		}
		table := routes.Without(s, down)
		s.Links = up
		for target, to := range s.Nodes {
			if to.Kind != topology.NIC {
				continue
			}
			dist := slowDistances(s, target)
			for node := range s.Nodes {
				var want []fabric.Port
				for _, l := range s.Links {
					if l.A == node && dist[l.B]+1 == dist[node] {
						want = append(want, l.APort)
					}
					if l.B == node && dist[l.A]+1 == dist[node] {
						want = append(want, l.BPort)
					}
				}
				slices.Sort(want)
				if got := table.Ports(node, target); !slices.Equal(got, want) {
					t.Fatalf("node %d to %d: %v, want %v", node, target, got, want)
				}
			}
		}
	})
}

func slowDistances(s *topology.Scenario, target int) []int {
	const far = 1 << 20
	dist := make([]int, len(s.Nodes))
	for i := range dist {
		dist[i] = far + 2*i // no two of these values differ by 1
	}
	dist[target] = 0
	for changed := true; changed; {
		changed = false
		for _, l := range s.Links {
			if dist[l.A] < far && dist[l.A]+1 < dist[l.B] {
				dist[l.B], changed = dist[l.A]+1, true
			}
			if dist[l.B] < far && dist[l.B]+1 < dist[l.A] {
				dist[l.A], changed = dist[l.B]+1, true
			}
		}
	}
	return dist
}

// randomRack returns switches with random links, possibly in several components, and
// NICs on some of them.
func randomRack(t *rapid.T) *topology.Scenario {
	s := &topology.Scenario{}
	nics := rapid.IntRange(1, 4).Draw(t, "nics")
	switches := rapid.IntRange(1, 6).Draw(t, "switches")
	ports := make([]fabric.Port, nics+switches)
	cable := func(a, b int) {
		s.Links = append(s.Links, topology.Link{A: a, B: b, APort: ports[a], BPort: ports[b]})
		ports[a]++
		ports[b]++
	}
	for i := range nics {
		s.Nodes = append(s.Nodes, topology.Node{Name: fmt.Sprintf("h%d", i), Kind: topology.NIC, Host: i})
		cable(i, nics+rapid.IntRange(0, switches-1).Draw(t, "at"))
	}
	for i := range switches {
		s.Nodes = append(s.Nodes, topology.Node{Name: fmt.Sprintf("s%d", i), Kind: topology.Switch, Host: -1})
		for j := range i {
			if rapid.Bool().Draw(t, "cabled") {
				cable(nics+i, nics+j)
			}
		}
	}
	return s
}
