package scenariofile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// examples holds names of every form in Builtins.
var examples = append(Builtins()[:len(Builtins())-len(generators)], "star-1", "star-8", "star-64", "dumbbell-1-1", "dumbbell-8-2", "dumbbell-64-64",
	"sharing-1-1", "sharing-64-5", "incast-1", "incast-15", "incast-1023", "permutation-2", "permutation-54", "permutation-1024")

func TestEveryBuiltinIsValid(t *testing.T) {
	for _, name := range examples {
		if s := builtin(t, name); s.Name != name {
			t.Errorf("%s is called %s", name, s.Name)
		}
	}
	for _, name := range []string{"", "star", "star-0", "star-65", "star-08", "star-x", "dumbbell-3", "dumbbell-3-0", "dumbbell-3-3-3", "star-3-3", "sharing-3", "sharing-65-1", "incast-0", "incast-1024", "permutation-1", "permutation-1025", "permutation-8-8"} {
		if _, ok := Builtin(name); ok {
			t.Errorf("%q is a scenario", name)
		}
	}
}

// PCN-3: 16 senders, 2 receivers, 2 switches, all links 40 Gbps and 5 us; F0
// from H0 to R0 and F1 from H1 to R1 through S0 and S1, starting with 20 Gbps
// each; each of H2 to H15, attached to S1, emits 16 flows of 64 KB to R1 at line
// rate.
func TestPCN16to2MatchesThePaper(t *testing.T) {
	s := builtin(t, "pcn-16to2")
	kinds := map[topology.NodeKind]int{}
	for _, n := range s.Nodes {
		kinds[n.Kind]++
	}
	if kinds[topology.NIC] != 18 || kinds[topology.Switch] != 2 {
		t.Errorf("nodes: %v", kinds)
	}
	var cables []string
	for _, l := range s.Links {
		if l.Rate != 40*unit.GigabitPerSec || l.Delay != 5*unit.Microsecond {
			t.Errorf("link %+v", l)
		}
		cables = append(cables, s.Nodes[l.A].Name+"-"+s.Nodes[l.B].Name)
	}
	want := []string{"h0-s0", "h1-s0", "s0-s1"}
	for i := 2; i < 16; i++ {
		want = append(want, fmt.Sprintf("h%d-s1", i))
	}
	if want = append(want, "r0-s1", "r1-s1"); !slices.Equal(cables, want) {
		t.Errorf("links: %v", cables)
	}
	for i, ends := range []string{"F0 h0 r0", "F1 h1 r1"} {
		f := s.Flows[i]
		if got := fmt.Sprintf("%s %s %s", f.Name, s.Nodes[f.From].Name, s.Nodes[f.To].Name); got != ends ||
			f.Size != topology.Endless || f.Start != 0 || f.Initial != 20*unit.GigabitPerSec {
			t.Errorf("flow %d: %s %+v", i, got, f)
		}
	}
	perSender := map[string]int{}
	for _, f := range s.Flows[2:] {
		perSender[s.Nodes[f.From].Name]++
		if s.Nodes[f.To].Name != "r1" || f.Size != 64*unit.Kilobyte || f.Initial != 0 || f.Start != s.Bursts[0].At {
			t.Fatalf("flow %+v", f)
		}
	}
	for i := 2; i < 16; i++ {
		if name := fmt.Sprintf("h%d", i); perSender[name] != 16 || len(perSender) != 14 {
			t.Errorf("%s sends %d flows, %d hosts send", name, perSender[name], len(perSender))
		}
	}
}

// PCN-4: a 64 KB flow lasts 12.8 us; the bursts total 14 x 16 x 64 KB = 14.3 MB,
// about 2.9 ms at 40 Gbps; the base RTT is 3 links x 5 us x 2 = 30 us.
func TestPCN16to2HasTheDerivedFiguresOfThePaper(t *testing.T) {
	s := builtin(t, "pcn-16to2")
	line := s.Links[0].Rate
	if got := line.Serialise(s.Bursts[0].Size); got != 12800*unit.Nanosecond {
		t.Errorf("a flow lasts %s", got)
	}
	total := unit.Bytes(s.Bursts[0].Flows) * s.Bursts[0].Size
	if total != 14336*unit.Kilobyte || line.Serialise(total) != 2867200*unit.Nanosecond {
		t.Errorf("the burst is %s, %s", total, line.Serialise(total))
	}
	for _, f := range s.Flows[:2] {
		if rtt := roundTrip(s, f); rtt != 30*unit.Microsecond || s.Bursts[0].At < 5*rtt {
			t.Errorf("%s: base RTT %s, the burst comes at %s", f.Name, rtt, s.Bursts[0].At)
		}
	}
}

// roundTrip returns the sum of the delays along the flow's first route, in both
// directions.
func roundTrip(s *topology.Scenario, f topology.Flow) unit.Time {
	ends, routes := s.PortMap(), routes.NewPaths(s, s.PortMap())
	var sum unit.Time
	for at := f.From; at != f.To; {
		e := ends[at][routes.Ports(at, f.To)[0]]
		sum += 2 * s.Links[e.Link].Delay
		at = e.Peer
	}
	return sum
}

func TestDumbbellSpreadsSendersOverReceivers(t *testing.T) {
	s := builtin(t, "dumbbell-4-3")
	var to []string
	for _, f := range s.Flows {
		to = append(to, s.Nodes[f.To].Name)
	}
	if want := []string{"r0", "r1", "r2", "r0"}; !slices.Equal(to, want) {
		t.Errorf("got %v", to)
	}
}

// The list of built-in scenarios says the range of every number in a name.
func TestBuiltinListStatesLimits(t *testing.T) {
	list := BuiltinList()
	for _, want := range []string{"pcn-16to2, ", "star-N (1 to 64)", "dumbbell-N-M (1 to 64)", "incast-N (1 to 1023)", "permutation-N (2 to 1024)"} {
		if !strings.Contains(list, want) {
			t.Errorf("want %q in %q", want, list)
		}
	}
	if strings.Count(list, "-N") != strings.Count(list, " to ") {
		t.Errorf("a number without its range in %q", list)
	}
}
