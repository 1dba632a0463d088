package groups

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

func parse(t testing.TB, text string) *topology.Scenario {
	t.Helper()
	s, err := scenariofile.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// random returns a small rack with random links and flows.
func random(t testing.TB, r *rand.Rand) *topology.Scenario {
	var b strings.Builder
	switches, hosts := 1+r.IntN(3), 2+r.IntN(5)
	fmt.Fprintf(&b, "name: random\nduration: %dus\nscheme: pfc\nnics: {h0..h%d: }\nswitches: {s0..s%d: }\nlinks:\n", 10+r.IntN(500), hosts-1, switches-1)
	delay := func() string { return []string{"1us", "2us", "5us"}[r.IntN(3)] }
	for h := range hosts {
		fmt.Fprintf(&b, "  - {endpoints: [h%d, s%d], rate: 40Gbps, delay: %s}\n", h, r.IntN(switches), delay())
	}
	for i := 1; i < switches; i++ {
		fmt.Fprintf(&b, "  - {endpoints: [s%d, s%d], rate: 100Gbps, delay: %s}\n", r.IntN(i), i, delay())
	}
	if r.IntN(4) > 0 {
		b.WriteString("flows:\n")
	}
	for f := range 1 + r.IntN(4) {
		if from := r.IntN(hosts); strings.Contains(b.String(), "flows:") {
			fmt.Fprintf(&b, "  - {name: F%d, from: h%d, to: h%d, size: %dKB}\n", f, from, (from+1+r.IntN(hosts-1))%hosts, 100+r.IntN(2000))
		}
	}
	return parse(t, b.String())
}

// fatTree returns a 3-tier fat tree of switches with k ports (Al-Fares et al., SIGCOMM
// 2008), and a flow from each host to the host half the rack away. The nodes are the
// hosts, then the edge, the aggregation and the core switches.
func fatTree(k int) *topology.Scenario {
	half, hosts := k/2, k*k*k/4
	s := &topology.Scenario{Duration: unit.Millisecond}
	edge, aggregation, core := hosts, hosts+k*half, hosts+2*k*half
	ports := make([]fabric.Port, core+half*half)
	for i := range ports {
		kind := topology.Switch
		if i < hosts {
			kind = topology.NIC
			s.Flows = append(s.Flows, topology.Flow{From: i, To: (i + hosts/2) % hosts, Size: 100 * unit.Kilobyte})
		}
		s.Nodes = append(s.Nodes, topology.Node{Kind: kind, NIC: topology.NICSettings{Payload: 1000}})
	}
	join := func(a, b int) {
		s.Links = append(s.Links, topology.Link{A: a, B: b, APort: ports[a], BPort: ports[b], Rate: 100 * unit.GigabitPerSec, Delay: unit.Microsecond})
		ports[a]++
		ports[b]++
	}
	for h := range hosts {
		join(h, edge+h/half)
	}
	for i := range k * half {
		for j := range half {
			join(edge+i, aggregation+i/half*half+j)
			join(aggregation+i, core+i%half*half+j)
		}
	}
	return s
}

// valid reports the faults of a cut into n groups.
func valid(t testing.TB, s *topology.Scenario, c *Cut, n int) {
	t.Helper()
	work := make([]float64, n)
	next, exp := 0, expect(s)
	for i, g := range c.Of {
		if g > next {
			t.Fatalf("node %d is the first of group %d, but group %d has no node yet", i, g, next)
		}
		next = max(next, g+1)
		work[g] += exp.nodes[i]
	}
	if next != n || !slices.Equal(work, c.Work) {
		t.Fatalf("%d groups with work %v, want %d with %v", next, c.Work, n, work)
	}
}

// The cost of a cut is close to that of the best of all cuts.
func TestCutIsNearTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sum := 0.0
	const racks = 60
	for range racks {
		s := random(t, r)
		n := 2 + r.IntN(2)
		c, exp := New(s, n), expect(s)
		valid(t, s, c, min(n, len(s.Nodes)))
		if len(s.Nodes) <= n {
			continue
		}
		best, of := math.Inf(1), make([]int, len(s.Nodes))
		for {
			if slices.Max(of) == n-1 && slices.Index(of, 1) > 0 && (n == 2 || slices.Index(of, 1) < slices.Index(of, 2)) {
				best = min(best, exp.cost(exp.cut(of, []int{0, 1, 2}[:n], n)))
			}
			i := 1 // node 0 is in group 0
			for ; i < len(of) && of[i] == n-1; i++ {
				of[i] = 0
			}
			if i == len(of) {
				break
			}
			of[i]++
		}
		ratio := exp.cost(c) / best
		sum += ratio
		t.Logf("%d nodes, %d groups: %.0f, best %.0f", len(s.Nodes), n, exp.cost(c), best)
		if ratio > 1.5 {
			t.Errorf("%d nodes, %d groups: cost %.2f times that of the best cut", len(s.Nodes), n, ratio)
		}
	}
	if mean := sum / racks; mean > 1.1 {
		t.Errorf("cost is %.2f times that of the best cut on average", mean)
	}
}

// A fat tree is cut about as well as by whole pods, each in the group of the pod to which
// it sends, with the core spread evenly.
func TestFatTreeIsCutLikePods(t *testing.T) {
	const k = 8
	s := fatTree(k)
	exp := expect(s)
	for _, n := range []int{2, 4} {
		c := New(s, n)
		valid(t, s, c, n)
		pods := make([]int, 0, len(s.Nodes))
		for _, nodes := range []int{k * k / 4, k / 2, k / 2} { // hosts, edge and aggregation switches of a pod
			for i := range k * nodes {
				pods = append(pods, i/nodes%(k/2)%n)
			}
		}
		for i := range k * k / 4 {
			pods = append(pods, i%n)
		}
		byPods := exp.cut(pods, []int{0, 1, 2, 3}[:n], n)
		t.Logf("%d groups: cost %.0f, by pods %.0f", n, exp.cost(c), exp.cost(byPods))
		if exp.cost(c) > 1.1*exp.cost(byPods) {
			t.Errorf("%d groups: cost %.0f, by pods %.0f", n, exp.cost(c), exp.cost(byPods))
		}
	}
}

func TestCutIntoOneGroupAndIntoNodes(t *testing.T) {
	s := fatTree(4)
	for _, n := range []int{1, len(s.Nodes), len(s.Nodes) + 1} {
		c := New(s, n)
		valid(t, s, c, min(n, len(s.Nodes)))
	}
	if pairs := New(s, len(s.Nodes)).Across(s); len(pairs) != len(s.Links) {
		t.Errorf("%d pairs of nodes, want one for each of %d links", len(pairs), len(s.Links))
	}
}

// Frames of a flow, or of the messages of a program, are expected at both hosts and spread over the shortest
// paths.
func TestExpectedTraffic(t *testing.T) {
	for name, work := range map[string]string{
		"flow":    "flows:\n  - {name: F, from: h0, to: h1, size: 100KB}\n",
		"program": "programs:\n  h0: |\n    send 60KB to h1\n    send 40KB to h1\n",
	} {
		t.Run(name, func(t *testing.T) { checkExpected(t, work) })
	}
}

func checkExpected(t *testing.T, work string) {
	s := parse(t, `
name: expected
duration: 1ms
scheme: pfc
nics: {h0: , h1: }
switches: {s0..s3: }
links:
  - {endpoints: [h0, s0], rate: 40Gbps, delay: 1us}
  - {endpoints: [s0, "s1, s2"], rate: 40Gbps, delay: 1us}
  - {endpoints: ["s1, s2", s3], rate: 40Gbps, delay: 1us}
  - {endpoints: [s3, h1], rate: 40Gbps, delay: 1us}
`+work)
	exp, packets := expect(s), 100e3/float64(s.Nodes[0].NIC.Payload)
	for node, share := range []float64{1, 1, 1, 0.5, 0.5, 1} {
		if got, want := exp.nodes[node]-1, 2*packets*share; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s handles %v frames, want %v", s.Nodes[node].Name, got, want)
		}
	}
	for link, share := range []float64{1, 0.5, 0.5, 0.5, 0.5, 1} {
		if got, want := exp.links[link], 2*packets*share; math.Abs(got-want) > 1e-6 {
			t.Errorf("link %d carries %v frames, want %v", link, got, want)
		}
	}
}

func BenchmarkFatTree(b *testing.B) {
	for _, k := range []int{16, 32, 64} {
		s := fatTree(k)
		b.Run(fmt.Sprintf("%dhosts", k*k*k/4), func(b *testing.B) {
			for b.Loop() {
				New(s, 2)
			}
		})
	}
}
