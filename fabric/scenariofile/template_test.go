package scenariofile

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/topology/templates"
	"github.com/rackfab/rackfab/fabric/unit"
)

// byTemplate returns the text of a scenario with a rack by template.
func byTemplate(keys string) string {
	return "name: rack\nduration: 1ms\ndefaults: {switch: {buffer: 1GB}}\ntopology: {template: " + keys + "}\n"
}

// A k-ary fat tree has k³/4 hosts and 5k²/4 switches. The counts of the others follow from their
// numbers.
func TestTemplatesHaveTheirNodesAndLinks(t *testing.T) {
	for _, c := range []struct {
		keys                   string
		hosts, switches, links int
	}{
		{"star", 8, 1, 8},
		{"star, hosts: 1", 1, 1, 1},
		{"leaf-spine", 16, 4 + 4, 16 + 16},
		{"leaf-spine, leaves: 3, hosts: 5, spines: 2, parallel: 4", 15, 3 + 2, 15 + 24},
		{"leaf-spine, hosts: 8, oversubscription: 4", 32, 4 + 2, 32 + 8},
		{"leaf-spine, hosts: 8, uplink_rate: 400Gbps", 32, 4 + 2, 32 + 8},
		{"leaf-spine, hosts: 8, parallel: 2, oversubscription: 0.5", 32, 4 + 8, 32 + 64},
		{"fat-tree", 16, 20, 3 * 16},
		{"fat-tree, k: 2", 2, 5, 2 + 2 + 2},
		{"fat-tree, k: 8", 128, 80, 3 * 128},
		{"fat-tree, k: 16", 1024, 320, 3 * 1024},
		{"fat-tree, k: 8, hosts: 1", 32, 80, 32 + 2*128},
		{"fat-tree, k: 8, oversubscription: 3", 384, 80, 384 + 2*128},
		{"fat-tree, k: 8, parallel: 2, oversubscription: 1", 256, 80, 256 + 4*128},
		{"fat-tree, k: 8, tiers: 2", 32, 8 + 4, 32 + 32},
		{"fat-tree, k: 6, tiers: 2, oversubscription: 2, parallel: 2, uplink_rate: 50Gbps", 36, 6 + 3, 36 + 36},
		{"rail, local_switch: false", 16, 4 + 4, 16 + 16},
		{"rail", 16, 16 + 4 + 4 + 4, 3*16 + 16},
		{"rail, servers: 6, nics: 2, pods: 3, oversubscription: 3", 36, 36 + 18 + 6 + 2, 3*36 + 12},
		{"rail, nics: 8, spines: none", 32, 32 + 4 + 8, 3 * 32},
		{"dragonfly", 72, 36, 72 + 9*6 + 36},
		{"dragonfly, hosts: 1, routers: 6, global_links: 3", 19 * 6, 19 * 6, 19*6 + 19*15 + 19*9},
		{"dragonfly, routers: 1, global_links: 4, hosts: 3", 15, 5, 15 + 10},
		{"dragonfly, groups: 4", 32, 16, 32 + 4*6 + 6*2}, // 8 global links of a group for 3 others: 2 each
		{"dragonfly, groups: 2", 16, 8, 16 + 2*6 + 8},
	} {
		s, switches := parsed(t, byTemplate(c.keys)), 0
		for range s.NodesOf(topology.Switch) {
			switches++
		}
		if hosts := len(s.Nodes) - switches; hosts != c.hosts || switches != c.switches || len(s.Links) != c.links {
			t.Errorf("%s: %d hosts, %d switches, %d links, want %d, %d, %d", c.keys, hosts, switches, len(s.Links), c.hosts, c.switches, c.links)
		}
		same(t, s)
	}
}

// The template has nodes and links of a rack that is written out.
func TestFatTreeTemplateIsTheWrittenRack(t *testing.T) {
	text, err := os.ReadFile("testdata/racks/fat-tree-1024.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := parsed(t, string(text))
	begin, rest, _ := strings.Cut(string(text), "nics:")
	_, flows, _ := strings.Cut(rest, "flows:")
	got := parsed(t, begin+"topology: {template: fat-tree, k: 16}\nflows:"+flows)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// shortestPaths returns the number of shortest paths between two hosts, and their links.
func shortestPaths(table *routes.Table, ends [][]topology.End, at, to int) (n, links int) {
	if at == to {
		return 1, 0
	}
	for _, port := range table.Ports(at, to) {
		some, length := shortestPaths(table, ends, ends[at][port].Peer, to)
		n, links = n+some, length+1
	}
	return n, links
}

// Every two hosts have the expected number of shortest paths, of the expected length.
func TestTemplatesHaveAllPaths(t *testing.T) {
	// relation returns how far apart hosts a and b are: the first of some group sizes for which both
	// are in the same group.
	relation := func(a, b int, groups ...int) int {
		for i, size := range groups {
			if a/size == b/size {
				return i
			}
		}
		return len(groups)
	}
	for keys, want := range map[string]func(a, b int) (paths, links int){
		"star": func(int, int) (int, int) { return 1, 2 },
		"leaf-spine, leaves: 3, hosts: 2, spines: 5, parallel: 2": func(a, b int) (int, int) {
			return []int{1, 5 * 2 * 2}[relation(a, b, 2)], []int{2, 4}[relation(a, b, 2)]
		},
		"fat-tree, k: 4": func(a, b int) (int, int) {
			return []int{1, 2, 4}[relation(a, b, 2, 4)], []int{2, 4, 6}[relation(a, b, 2, 4)]
		},
		"fat-tree, k: 6, oversubscription: 2, parallel: 2": func(a, b int) (int, int) { // 12 hosts per edge switch
			return []int{1, 3 * 4, 9 * 16}[relation(a, b, 12, 36)], []int{2, 4, 6}[relation(a, b, 12, 36)]
		},
		"fat-tree, k: 6, tiers: 2": func(a, b int) (int, int) { return []int{1, 3}[relation(a, b, 3)], []int{2, 4}[relation(a, b, 3)] },
		"rail, servers: 3, nics: 4, pods: 2, spines: 3, local_switch: false": func(a, b int) (int, int) {
			if a%4 == b%4 && a/12 == b/12 { // the same rail switch
				return 1, 2
			}
			return 3, 4
		},
		"rail, servers: 3, nics: 4, spines: none": func(a, b int) (int, int) {
			switch {
			case a/4 == b/4, a%4 == b%4: // the same server, or rail
				return 1, 4
			}
			return 2, 6 // by the local switch of the sender or of the receiver
		},
	} {
		s := parsed(t, byTemplate(keys))
		ends := s.PortMap()
		table := routes.New(s, ends)
		for a := range s.NodesOf(topology.NIC) {
			for b := range s.NodesOf(topology.NIC) {
				if a == b {
					continue
				}
				wantPaths, wantLinks := want(a, b)
				if n, links := shortestPaths(table, ends, a, b); n != wantPaths || links != wantLinks {
					t.Fatalf("%s: %d paths of %d links from h%d to h%d, want %d of %d", keys, n, links, a, b, wantPaths, wantLinks)
				}
			}
		}
	}
}

// The hosts below a switch have the given multiple of the rate of its links up, and every tier above
// has as much down as up.
func TestTemplatesAreOversubscribedAsTold(t *testing.T) {
	for keys, want := range map[string]float64{
		"leaf-spine":            1,
		"leaf-spine, spines: 2": 2,
		"leaf-spine, hosts: 12, oversubscription: 3":   3,
		"leaf-spine, hosts: 12, uplink_rate: 400Gbps":  1,
		"leaf-spine, hosts: 12, oversubscription: 1.5": 1.5,
		"fat-tree, k: 6":                                   1,
		"fat-tree, k: 6, oversubscription: 2":              2,
		"fat-tree, k: 6, hosts: 12":                        4,
		"fat-tree, k: 6, tiers: 2, oversubscription: 3":    3,
		"fat-tree, k: 8, oversubscription: 2, parallel: 3": 2,
		"rail, servers: 8, oversubscription: 2":            2,
		"rail, servers: 8, pods: 2, uplink_rate: 200Gbps":  1,
	} {
		s := parsed(t, byTemplate(keys))
		below, up := map[string]unit.Rate{}, map[string]unit.Rate{} // by the letters of the switches' names
		for _, l := range s.Links {
			low, high := kindOf(s, l.A), kindOf(s, l.B)
			up[low] += l.Rate
			below[high] += l.Rate
		}
		for kind, rate := range up {
			ratio := float64(below[kind]) / float64(rate)
			switch expected := want; kind {
			case "agg":
				expected = 1
				fallthrough
			case "leaf", "edge", "rail":
				if math.Abs(ratio-expected) > 1e-9 {
					t.Errorf("%s: %s has %v times the rate below, want %v", keys, kind, ratio, expected)
				}
			}
		}
	}
}

// kindOf returns the letters of a node's name.
func kindOf(s *topology.Scenario, node int) string {
	return strings.TrimRight(s.Nodes[node].Name, "0123456789")
}

// Rates and delays come from the template, else from defaults.link, else from the template's defaults.
func TestTemplateLinks(t *testing.T) {
	for _, c := range []struct {
		defaults, keys, link string
		rate                 unit.Rate
		delay                unit.Time
		mtu                  unit.Bytes
	}{
		{"", "leaf-spine", "h0--leaf0", templateRate, templateDelay, 1518},
		{"", "leaf-spine, rate: 25Gbps, delay: 2us, mtu: 4200B", "h0--leaf0", 25 * unit.GigabitPerSec, 2 * unit.Microsecond, 4200},
		{"", "leaf-spine, rate: 25Gbps, delay: 2us, mtu: 4200B", "leaf0--spine0", 25 * unit.GigabitPerSec, 2 * unit.Microsecond, 4200},
		{"rate: 40Gbps, delay: 5us, mtu: 2000B", "leaf-spine, uplink_rate: 80Gbps", "h0--leaf0", 40 * unit.GigabitPerSec, 5 * unit.Microsecond, 2000},
		{"rate: 40Gbps, delay: 5us", "leaf-spine, uplink_rate: 80Gbps, uplink_delay: 3us", "leaf0--spine0", 80 * unit.GigabitPerSec, 3 * unit.Microsecond, 1518},
		{"", "fat-tree, uplink_delay: 3us", "agg0--core0", templateRate, 3 * unit.Microsecond, 1518},
		{"", "rail, local_rate: 900Gbps", "h0--gpu0", 900 * unit.GigabitPerSec, 100 * unit.Nanosecond, 1518},
		{"", "rail, local_delay: 50ns", "gpu0--local0", templateRate, 50 * unit.Nanosecond, 1518},
		{"", "rail, rate: 400Gbps, local_rate: 900Gbps", "gpu5--rail1", 400 * unit.GigabitPerSec, templateDelay, 1518},
		{"", "rail, uplink_rate: 800Gbps, spines: 1", "rail0--spine0", 800 * unit.GigabitPerSec, templateDelay, 1518},
	} {
		s := parsed(t, fmt.Sprintf("name: rack\nduration: 1ms\ndefaults: {link: {%s}}\ntopology: {template: %s}\n", c.defaults, c.keys))
		i := s.LinkNamed(c.link)
		if i < 0 {
			t.Errorf("%s: no link %s", c.keys, c.link)
			continue
		}
		if l := s.Links[i]; l.Rate != c.rate || l.Delay != c.delay || l.MTU != c.mtu {
			t.Errorf("%s: %s has %s, %s, %s", c.keys, c.link, l.Rate, l.Delay, l.MTU)
		}
	}
}

// Nodes and links of the file come after those of the template, and its keys override settings of the
// template's nodes.
func TestFileAddsToTemplate(t *testing.T) {
	s := parsed(t, byTemplate("leaf-spine, leaves: 2, hosts: 2, spines: 1")+`
nics: {h1: {payload: 500B}, storage0: }
switches: {spine0: {xoff: 20KB}, border0: }
links:
  - {endpoints: [storage0, border0], rate: 100Gbps, delay: 1us}
  - {endpoints: [border0, leaf0..leaf1], rate: 200Gbps, delay: 1us}
`)
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	if got := topology.JoinNames(names); got != "h0..h3, storage0, leaf0..leaf1, spine0, border0" {
		t.Errorf("nodes %s", got)
	}
	if s.Nodes[1].NIC.Payload != 500 || s.Nodes[0].NIC.Payload != 1000 || s.Nodes[7].Switch.XOFF != 20000 {
		t.Errorf("settings of h0 %v, h1 %v, spine0 %v", s.Nodes[0].NIC.Payload, s.Nodes[1].NIC.Payload, s.Nodes[7].Switch.XOFF)
	}
	if n := len(s.Links); n != 4+2+3 || s.LinkName(n-1) != "border0--leaf1" {
		t.Errorf("%d links, the last is %s", n, s.LinkName(n-1))
	}
	same(t, s)
}

// Settings change the numbers of a template, and then links that it makes.
func TestSettingsOfTemplates(t *testing.T) {
	text := byTemplate("fat-tree")
	s, err := ParseWith("f", []byte(text), []topology.Setting{{Key: "topology.k", Value: "6"}, {Key: "topology.uplink_rate", Value: "50Gbps"}, {Key: "agg0--core2.rate", Value: "10Gbps"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Nodes) != 54+45 || s.Links[s.LinkNamed("agg0--core2")].Rate != 10*unit.GigabitPerSec || s.Links[s.LinkNamed("agg0--core1")].Rate != 50*unit.GigabitPerSec {
		t.Errorf("%d nodes", len(s.Nodes))
	}
	for _, c := range []struct{ text, key, want string }{
		{text, "topology.leaves", "topology.leaves: is no key of template fat-tree, want one of template, rate, delay, mtu, k, "},
		{text, "topology.size", "topology.size: unknown key, want one of topology.hosts, topology.leaves, "},
		{text, "topology.template", "topology.template: unknown key, want one of topology.hosts, "},
		{sample, "topology.k", "topology.k: the scenario has no topology"},
	} {
		if _, err := ParseWith("f", []byte(c.text), []topology.Setting{{Key: c.key, Value: "4"}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.key, err, c.want)
		}
	}
}

func TestTemplateFaults(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"ring", `topology.template: "ring" is unknown, want one of star, leaf-spine, fat-tree, rail`},
		{"star, k: 4", "topology.k: is no key of template star, want one of template, rate, delay, mtu, hosts"},
		{"fat-tree, k: 5", "topology.k: 5 is odd: half of the ports of a switch lead up, want an even number"},
		{"fat-tree, k: 514", `topology.k: "514" is not an integer from 2 to 512`},
		{"fat-tree, k: 128", "topology: creates 544768 nodes, want at most 131072"},
		{"fat-tree, tiers: 4", `topology.tiers: "4" is not an integer from 2 to 3`},
		{"fat-tree, k: 6, oversubscription: 1.2", "topology.oversubscription: 1.2 needs 3.6 hosts at 100Gbps below each edge switch with 3 links of 100Gbps up: want a whole number from 1 on, or give hosts"},
		{"fat-tree, hosts: 2, oversubscription: 1", "topology.oversubscription: cannot be combined with hosts"},
		{"leaf-spine, oversubscription: 3", "topology.oversubscription: 3 needs 1.333 spines above each leaf with 4 hosts at 100Gbps, 1 links of 100Gbps to each spine: want a whole number from 1 on, or give spines"},
		{"leaf-spine, hosts: 1, oversubscription: 1000", "topology.oversubscription: 1000 needs 0.001 spines"},
		{"leaf-spine, spines: 2, oversubscription: 1", "topology.oversubscription: cannot be combined with spines"},
		{"leaf-spine, leaves: 131072, hosts: 131072", "topology: creates 17180131328 nodes, want at most 131072"},
		{"leaf-spine, leaves: 4000, spines: 200", "topology: creates 816000 links, want at most 262144"},
		{"leaf-spine, spines: none", "topology.spines: none leaves 4 leaves without a path to each other: want a number"},
		{"rail, spines: none, pods: 2", "topology.spines: none leaves 2 pods without a path to each other: want a number"},
		{"rail, spines: none, local_switch: false", "topology.spines: none leaves 4 rails without a path to each other: want a number, or local_switch: true"},
		{"rail, spines: none, oversubscription: 2", "topology.oversubscription: has no meaning without spines"},
		{"rail, rate: 0Gbps", "topology.rate: 0Gbps is out of range, want 1Kbps to 10Tbps"},
	} {
		_, err := Parse("f", []byte(byTemplate(c.keys)))
		if err == nil || !strings.HasPrefix(err.Error(), "f:4: "+c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.keys, err, c.want)
		}
	}
	all := "f:3: topology.mtu: 1B is out of range, want 128B to 65.536KB\nf:3: topology.k: 3 is odd: half of the ports of a switch lead up, want an even number\nf:4: flows: want a list, not a mapping"
	if _, err := Parse("f", []byte("name: x\nduration: 1ms\ntopology: {template: fat-tree, k: 3, mtu: 1B}\nflows: {}")); err == nil || err.Error() != all {
		t.Errorf("%v, want %s", err, all)
	}
	if _, err := Parse("f", []byte("name: x\nduration: 1ms\ntopology: {template: star, hosts: 300}\n")); err == nil || !strings.HasPrefix(err.Error(), "f:3: defaults.switch.buffer: 12MB is too small") {
		t.Error(err)
	}
	for _, text := range []string{"name: x\nduration: 1ms\n", "name: x\nduration: 1ms\ntopology:\n"} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), "is missing: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Every key of a template is a key of the section, and every key of the section is of a template.
func TestKeysOfTemplates(t *testing.T) {
	used := map[string]bool{}
	for _, name := range templates.Names() {
		for _, key := range templates.Keys(name) {
			used[key] = true
			if find(templateFields, key) == nil {
				t.Errorf("%s: no key %s", name, key)
			}
		}
	}
	for _, f := range templateFields {
		if !used[f.key] {
			t.Errorf("no template has the key %s", f.key)
		}
	}
}
