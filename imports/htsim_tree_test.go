package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// smallTree has two pods of two ToRs with a host each, two aggs with two links to each ToR of their pod, and four
// cores.
const smallTree = `# a tree
Nodes 4
TIERS 3
Podsize 2
Tier 0
Downlink_speed_Gbps 100
Downlink_Latency_ns 500
Radix_Down 1
Radix_Up 4
Tier 1
Downlink_speed_Gbps 50
Downlink_Latency_ns 600
Radix_Down 4
Radix_Up 2
Bundle 2
Tier 2
Downlink_speed_Gbps 200
Downlink_Latency_ns 1000
Radix_Down 2
`

// planted returns the scenario of a tree, with a matrix of no connections.
func planted(t *testing.T, tree string, nodes int) (*topology.Scenario, []string) {
	t.Helper()
	out, err := connected(fmt.Sprintf("Nodes %d\n", nodes), &File{"t.topo", []byte(tree)}, unit.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenariofile.Parse("s", out.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	return s, out.Notes
}

// linked returns the links of a scenario, "A--B rate delay".
func linked(s *topology.Scenario) (list []string) {
	for i, l := range s.Links {
		list = append(list, fmt.Sprint(s.LinkName(i), " ", l.Rate, " ", l.Delay))
	}
	return list
}

func TestHTSimTree(t *testing.T) {
	s, notes := planted(t, smallTree, 4)
	var want []string
	for h := range 4 {
		want = append(want, fmt.Sprintf("h%d--tor%d 100Gbps 500ns", h, h))
	}
	for _, pod := range []int{0, 2} {
		for tor := pod; tor < pod+2; tor++ {
			for agg := pod; agg < pod+2; agg++ {
				want = append(want, fmt.Sprintf("tor%d--agg%d 50Gbps 600ns", tor, agg), fmt.Sprintf("tor%d--agg%d#2 50Gbps 600ns", tor, agg))
			}
		}
	}
	for agg := range 4 { // the first agg of a pod has cores 0 and 2, the second 1 and 3
		for core := agg % 2; core < 4; core += 2 {
			want = append(want, fmt.Sprintf("agg%d--core%d 200Gbps 1us", agg, core))
		}
	}
	got := linked(s)
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" || len(notes) > 0 {
		t.Errorf("%s\nnotes %q", d, notes)
	}
}

// IMP-6: Each pair of hosts of a tree is connected, by as many links as there are tiers, twice.
func TestHTSimTreesConnect(t *testing.T) {
	for _, c := range []struct{ nodes, tiers, pod, down, aggs, up, bundle int }{
		{8, 2, 8, 2, 2, 0, 1}, {8, 2, 8, 4, 3, 0, 2}, {16, 3, 4, 2, 2, 2, 1}, {16, 3, 8, 2, 4, 2, 2}, {12, 3, 6, 3, 1, 4, 1},
	} {
		tors := c.pod / c.down
		tree := fmt.Sprintf("Nodes %d\nTiers %d\nPodsize %d\nTier 0\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 500\nRadix_Down %d\nRadix_Up %d\n"+
			"Tier 1\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 500\nRadix_Down %d\nBundle %d\n", c.nodes, c.tiers, c.pod, c.down, c.aggs*c.bundle, tors*c.bundle, c.bundle)
		if c.tiers == 3 {
			tree += fmt.Sprintf("Radix_Up %d\nTier 2\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 500\nRadix_Down %d\n", c.up, c.nodes/c.pod)
		}
		s, _ := planted(t, tree, c.nodes)
		switches := c.nodes/c.pod*(tors+c.aggs) + c.aggs*c.up
		if got := len(s.Nodes) - c.nodes; got != switches {
			t.Errorf("%+v: %d switches, want %d", c, got, switches)
		}
		paths := routes.New(s, s.PortMap())
		for to := 1; to < c.nodes; to++ {
			links := 2
			if to >= c.down {
				links = 4
			}
			if to >= c.pod {
				links = 6
			}
			hops := 0
			for range paths.Path(0, to) {
				hops++
			}
			if hops != links {
				t.Errorf("%+v: %d links from h0 to h%d, want %d", c, hops, to, links)
			}
		}
	}
}

// IMP-6: A path has the latencies of its links and switches.
func TestHTSimSwitchLatency(t *testing.T) {
	tree := strings.NewReplacer("Tier 1", "Switch_Latency_ns 100\nTier 1", "Tier 2", "Switch_Latency_ns 200\nTier 2").Replace(smallTree) + "Switch_Latency_ns 400\n"
	s, notes := planted(t, tree, 4)
	delay := map[string]unit.Time{}
	for i, l := range s.Links {
		delay[s.LinkName(i)] = l.Delay
	}
	up := delay["h0--tor0"] + delay["tor0--agg0"] + delay["agg0--core0"]
	if want := unit.Time(2*(500+600+1000)+2*100+2*200+400) * unit.Nanosecond; 2*up != want {
		t.Errorf("%s between pods, want %s: %v", 2*up, want, delay)
	}
	if want := unit.Time(2*500+100) * unit.Nanosecond; 2*delay["h0--tor0"] != want {
		t.Errorf("%s below a ToR, want %s", 2*delay["h0--tor0"], want)
	}
	if len(notes) != 3 || !strings.Contains(notes[1], "t.topo: Switch_Latency_ns 200 of tier 1: half of it") {
		t.Errorf("notes %q", notes)
	}
}

// IMP-6: Sizes of queues are limits of the switches. Oversubscribed is noted if the ports say otherwise.
func TestHTSimQueues(t *testing.T) {
	tree := strings.NewReplacer("Tier 1", "Queue_Up 100000\nQueue_Down 200000\nOversubscribed 4\nTier 1", "Tier 2", "Queue_Up 300000\nQueue_Down 400000\nTier 2").Replace(smallTree) + "Queue_Down 500000\n"
	s, notes := planted(t, tree, 4)
	limits := map[string]string{}
	for _, n := range s.NodesOf(topology.Switch) {
		limits[strings.TrimRight(n.Name, "0123456789")] = fmt.Sprint(n.Switch.Queues.Limit, " ", n.Switch.Queues.LimitLastHop)
	}
	want := map[string]string{"tor": "100KB 200KB", "agg": "400KB <nil>", "core": "500KB <nil>"}
	if !maps.Equal(limits, want) {
		t.Errorf("limits %v, want %v", limits, want)
	}
	text := strings.Join(notes, "\n")
	for _, note := range []string{"Oversubscribed 4 of tier 0: the ports and rates make it 0.5", "Queue_Down 400000 and Queue_Up 300000 of tier 1: queue_limit is the larger"} {
		if !strings.Contains(text, note) {
			t.Errorf("notes\n%s\nlack %s", text, note)
		}
	}
}

// The highest switches have queues downwards only. A queue without room for a packet is ignored.
func TestHTSimQueuesOfTheTop(t *testing.T) {
	s, notes := planted(t, "Nodes 2\nTiers 2\nPodsize 2\nTier 0\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 500\nRadix_Down 1\nRadix_Up 1\n"+
		"Tier 1\nDownlink_speed_Gbps 400\nDownlink_Latency_ns 500\nRadix_Down 2\nQueue_Down 70000\nQueue_Up 100\n", 2)
	for _, n := range s.NodesOf(topology.Switch) {
		if n.Name == "agg0" && fmt.Sprint(n.Switch.Queues.Limit) != "70KB" {
			t.Errorf("limit %v", n.Switch.Queues.Limit)
		}
		// The buffer of a ToR has room for the headroom of its fastest link.
		if want := unit.Bytes(bufferOf(2, 400*unit.GigabitPerSec, 500*unit.Nanosecond)); n.Name == "tor0" && n.Switch.Buffer != want {
			t.Errorf("buffer %s, want %s", n.Switch.Buffer, want)
		}
	}
	if len(notes) != 1 || notes[0] != "t.topo: ignored: Queue_Up 100 of tier 1, htsim reads bytes and a packet has more" {
		t.Errorf("notes %q", notes)
	}
}

// The run is longer on an oversubscribed tree: here ToRs have 400 Gbit/s below and 200 above.
func TestHTSimOversubscribed(t *testing.T) {
	tree := strings.Replace(smallTree, "Downlink_speed_Gbps 100", "Downlink_speed_Gbps 400", 1)
	out, err := connected(matrix("0->1 start 0 size 1250000"), &File{"t.topo", []byte(tree)}, unit.Microsecond)
	if err != nil || !strings.Contains(string(out.Scenario), "\nduration: 1.2ms\n") { // twice 50 us, 100 us, 1 ms
		t.Errorf("%v\n%s", err, out.Scenario)
	}
}

// A failed link upwards from an agg is down from the beginning; others are noted.
func TestHTSimFailures(t *testing.T) {
	var lines []string
	for _, f := range []string{"AGG switch_id 1 link_id 1", "AGG switch_id 2 link_id 0", "AGG switch_id 4 link_id 0", "AGG switch_id 0 link_id 2", "TOR switch_id 0 link_id 0"} {
		lines = append(lines, "failure switch_type "+f)
	}
	out, err := connected(matrix(strings.Join(lines, "\n")), &File{"t.topo", []byte(smallTree)}, unit.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	if got := section(out.Scenario, "changes"); got != "- {at: 0s, link_down: \"agg1--core3\"}\n- {at: 0s, link_down: \"agg2--core0\"}" {
		t.Errorf("changes\n%s", got)
	}
	if len(out.Notes) != 5 || out.Notes[2] != "t.cm:7: ignored: failure of link 0 of AGG 4, only links from an AGG of the topology upwards can fail" {
		t.Errorf("notes %q", out.Notes)
	}
	bundles := strings.NewReplacer("Radix_Up 2\nBundle 2\nTier 2", "Radix_Up 4\nBundle 2\nTier 2\nBundle 2", "Radix_Down 2\n", "Radix_Down 4\n").Replace(smallTree)
	out, err = connected(matrix(lines[0]), &File{"t.topo", []byte(bundles)}, unit.Microsecond)
	if err != nil || section(out.Scenario, "changes") != `- {at: 0s, link_down: "agg1--core1#2"}` {
		t.Errorf("%v\n%s", err, out.Scenario)
	}
}

// IMP-12: All faults of a topology are reported.
func TestHTSimTreeFaults(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"Nodes 4", "Nodes 6", "t.topo:19: Radix_Down 2 of tier 2, want 3: 1 for each of 3 pods"},
		{"Nodes 4\nTIERS 3", "Nodes four\nTiers 4\nRacks 3\nNodes", `t.topo:2: Nodes "four", want an integer from 1 to 131071
t.topo:3: Tiers "4", want an integer from 2 to 3
t.topo:4: "Racks" before the first Tier, want Nodes, Tiers, Podsize
t.topo:5: "Nodes", want a key and a number`},
		{"TIERS 3\nPodsize 2", "Tiers 3", "t.topo:18: no Podsize"},
		{"Nodes 4\nTIERS 3\nPodsize 2\n", "", "t.topo:16: no Nodes\nt.topo:16: no Tiers\nt.topo:16: no Podsize"},
		{"Radix_Up 4\nTier 1", "Tier 1\nTier 1", "t.topo:10: tier 1 was given before"},
		{"Radix_Up 4\nTier 1", "Tier 1", "t.topo:18: no Radix_Up of tier 0"},
		{"Downlink_Latency_ns 1000\nRadix_Down 2\n", "", "t.topo:17: no Downlink_Latency_ns of tier 2\nt.topo:17: no Radix_Down of tier 2"},
		{"Tier 2\nDownlink_speed_Gbps 200\nDownlink_Latency_ns 1000\nRadix_Down 2\n", "", "t.topo:15: no Tier 2"},
		{"Radix_Down 1\n", "Radix_Down 1\nRadix_Down 1\nWidth 3\n", "t.topo:9: Radix_Down is given twice\nt.topo:10: \"Width\", want Tier, Downlink_speed_Gbps, Radix_Up, Radix_Down, Queue_Up, Queue_Down, Oversubscribed, Bundle, Switch_Latency_ns or Downlink_Latency_ns"},
		{"Podsize 2", "Podsize 3", "t.topo:19: Nodes 4 is not a multiple of Podsize 3"},
		{"Radix_Down 1\n", "Radix_Down 3\n", "t.topo:19: Podsize 2 is not a multiple of Radix_Down 3 of tier 0"},
		{"Radix_Down 1\n", "Radix_Down 1\nBundle 2\n", "t.topo:20: Bundle of tier 0, want 1: a host has one link"},
		{"Radix_Up 4\n", "Radix_Up 3\n", "t.topo:19: Radix_Up 3 of tier 0 is not a multiple of Bundle 2 of tier 1"},
		{"Radix_Down 4\n", "Radix_Down 8\n", "t.topo:19: Radix_Down 8 of tier 1, want 4: 2 for each of 2 ToRs"},
		{"Radix_Down 2\n", "Radix_Down 4\n", "t.topo:19: Radix_Down 4 of tier 2, want 2: 1 for each of 2 pods"},
		{"Radix_Down 2\n", "Radix_Down 6\nBundle 3", "t.topo:20: Radix_Up 2 of tier 1 is not a multiple of Bundle 3 of tier 2"},
		{"TIERS 3", "Tiers 2", "t.topo:19: Podsize 2 with 2 tiers, want 4, as Nodes: all ToRs have links to all switches above"},
		{"Radix_Up 4\n", "Radix_Up 131072\n", "t.topo:19: 262152 nodes and 786436 links in all, want at most 131072 and 262144"},
	} {
		if strings.Count(smallTree, c.old) != 1 {
			t.Fatalf("%q occurs %d times", c.old, strings.Count(smallTree, c.old))
		}
		_, err := connected("Nodes 4\n", &File{"t.topo", []byte(strings.Replace(smallTree, c.old, c.with, 1))}, unit.Microsecond)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant\n%s", c.with, err, c.want)
		}
	}
	if _, err := connected("Nodes 5\n", &File{"t.topo", []byte(smallTree)}, unit.Microsecond); err == nil || err.Error() != "t.cm:1: Nodes 5, but t.topo has 4" {
		t.Error(err)
	}
}
