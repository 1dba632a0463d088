package scenariofile

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
)

// routerOf returns the number of a router, false for a host.
func routerOf(s *topology.Scenario, node int) (int, bool) {
	number, is := strings.CutPrefix(s.Nodes[node].Name, "router")
	n, err := strconv.Atoi(number)
	return n, is && err == nil
}

// COLL-19: A dragonfly of p hosts, a routers and h global links: the routers of a group are linked to each other, each two
// groups are linked equally often, and no router has more than h global links, or less with ah + 1 groups.
func TestDragonfly(t *testing.T) {
	for _, c := range []struct {
		keys                   string
		p, a, h, groups, links int // links: between each two groups
	}{
		{"dragonfly", 2, 4, 2, 9, 1},
		{"dragonfly, hosts: 3, routers: 6, global_links: 3", 3, 6, 3, 19, 1},
		{"dragonfly, routers: 5, global_links: 1", 2, 5, 1, 6, 1},
		{"dragonfly, groups: 5", 2, 4, 2, 5, 2},
		{"dragonfly, groups: 4", 2, 4, 2, 4, 2},
		{"dragonfly, groups: 2, global_links: 3", 2, 4, 3, 2, 12},
	} {
		s := parsed(t, byTemplate(c.keys))
		hosts, local, global, between := map[int]int{}, map[int]int{}, map[int]int{}, map[[2]int]int{}
		for _, l := range s.Links {
			a, isRouter := routerOf(s, l.A)
			b, _ := routerOf(s, l.B)
			switch x, y := a/c.a, b/c.a; {
			case !isRouter:
				hosts[b]++
			case x == y:
				local[a], local[b] = local[a]+1, local[b]+1
			default:
				global[a], global[b] = global[a]+1, global[b]+1
				between[[2]int{min(x, y), max(x, y)}]++
			}
		}
		if len(hosts) != c.groups*c.a || len(between) != c.groups*(c.groups-1)/2 {
			t.Errorf("%s: %d routers, and %d of %d groups are linked", c.keys, len(hosts), len(between), c.groups)
		}
		for router, n := range hosts {
			full := c.links*(c.groups-1) == c.a*c.h
			if g := global[router]; n != c.p || local[router] != c.a-1 || g > c.h || full && g < c.h {
				t.Errorf("%s: router%d has %d hosts, %d links in its group and %d to others", c.keys, router, n, local[router], g)
			}
		}
		for pair, n := range between {
			if n != c.links {
				t.Errorf("%s: %d links between groups %v, want %d", c.keys, n, pair, c.links)
			}
		}
	}
}

// COLL-19: In the palmtree arrangement, link d of a group, counted over its routers from 1 on, leads d groups back.
func TestGlobalLinksOfDragonfly(t *testing.T) {
	const a, h, groups = 6, 3, 19
	s, global := parsed(t, byTemplate("dragonfly, hosts: 3, routers: 6, global_links: 3")), 0
	for _, l := range s.Links {
		x, isRouter := routerOf(s, l.A)
		y, _ := routerOf(s, l.B)
		if !isRouter || x/a == y/a {
			continue
		}
		global++
		back := (x/a - y/a + groups) % groups
		if x%a != (back-1)/h || y%a != (groups-back-1)/h {
			t.Errorf("router%d and router%d are linked, %d groups back", x, y, back)
		}
	}
	if global != groups*(groups-1)/2 {
		t.Errorf("%d global links", global)
	}
}

// COLL-19: Between two hosts of a dragonfly are at most three links between routers. Where a path over a third group has
// as few links as the one by the link between both groups, it is used too.
func TestPathsOfDragonfly(t *testing.T) {
	s := parsed(t, byTemplate("dragonfly"))
	ends := s.PortMap()
	table := routes.New(s, ends)
	of := map[int]int{} // pairs of hosts of different groups, by links between groups on the first path
	for a := range s.NodesOf(topology.NIC) {
		for b := range s.NodesOf(topology.NIC) {
			if a == b {
				continue
			}
			links, group, global := -2, -1, 0 // without those of the hosts
			for hop := range table.Path(a, b) {
				links++
				if router, ok := routerOf(s, hop.Peer); ok {
					if group >= 0 && router/4 != group {
						global++
					}
					group = router / 4
				}
			}
			if links > 3 || group != b/8 {
				t.Fatalf("%d links between the routers of h%d and h%d", links, a, b)
			}
			if a/8 != b/8 {
				of[global]++
			}
		}
	}
	t.Logf("pairs of hosts by links between groups: %v", of)
	if of[1] == 0 || of[2] == 0 || of[0] > 0 || len(of) > 2 {
		t.Errorf("pairs of hosts by links between groups: %v, want 1 or 2", of)
	}
}

// COLL-19: Invalid numbers are refused with the allowed ones, also those of a dragonfly that is far too large.
func TestFaultsOfDragonfly(t *testing.T) {
	for keys, want := range map[string]string{
		"dragonfly, groups: 10":                                           "topology.groups: 10 of them need 9 links each, and 4 routers with 2 global links have 8: want at most 9",
		"dragonfly, groups: 1":                                            `topology.groups: "1" is not an integer from 2 to 131072`,
		"dragonfly, routers: 512, global_links: 512":                      "topology.groups: 262145 of them, with 512 routers each, have ",
		"dragonfly, routers: 512, global_links: 512, hosts: 131072":       "want at most 262144",
		"dragonfly, routers: 2, global_links: 1, groups: 2, hosts: 40000": "creates 160004 nodes, want at most 131072",
		"dragonfly, spines: 2":                                            "topology.spines: is no key of template dragonfly, want one of template, rate, delay, mtu, hosts, routers, global_links, groups, uplink_rate",
	} {
		if _, err := Parse("f.yaml", []byte(byTemplate(keys))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", keys, err, want)
		}
	}
}

// The links between groups have a rate and a delay of their own.
func TestGlobalLinks(t *testing.T) {
	s := parsed(t, byTemplate("dragonfly, uplink_rate: 200Gbps, uplink_delay: 2us, global_delay: 5us, global_rate: 400Gbps"))
	byRate := map[string]int{}
	for _, l := range s.Links {
		byRate[l.Rate.String()+" "+l.Delay.String()]++
	}
	if byRate["100Gbps 1us"] != 72 || byRate["200Gbps 2us"] != 54 || byRate["400Gbps 5us"] != 36 {
		t.Errorf("%v", byRate)
	}
}
