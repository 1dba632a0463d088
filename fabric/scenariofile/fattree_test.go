package scenariofile

import (
	"fmt"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A fat tree of k ports has k²/2 edge and aggregation switches, (k/2)² cores, and room for
// k³/4 hosts; the smallest one with room is taken.
func TestFatTreeIsTheSmallestWithRoom(t *testing.T) {
	for _, test := range []struct{ hosts, edges, cores, links int }{
		{2, 8, 4, 2 + 16 + 16},
		{16, 8, 4, 16 + 16 + 16},
		{17, 18, 9, 17 + 54 + 54},
		{54, 18, 9, 54 + 54 + 54},
		{128, 32, 16, 128 + 128 + 128},
		{1024, 128, 64, 3072},
	} {
		s := builtin(t, fmt.Sprintf("permutation-%d", test.hosts))
		count := map[byte]int{}
		for _, n := range s.Nodes {
			count[n.Name[0]]++
		}
		if count['h'] != test.hosts || count['e'] != test.edges || count['a'] != test.edges || count['c'] != test.cores || len(s.Links) != test.links {
			t.Errorf("%d hosts: %v, %d links", test.hosts, count, len(s.Links))
		}
	}
}

// Every switch of a full fat tree has k ports. Hosts in different pods have (k/2)² shortest
// paths of 6 links.
func TestFatTreeHasAllPaths(t *testing.T) {
	s := builtin(t, "permutation-54")
	ends := s.PortMap()
	for i, n := range s.Nodes {
		if n.Kind == topology.Switch && len(ends[i]) != 6 {
			t.Errorf("%s has %d ports", n.Name, len(ends[i]))
		}
	}
	// h0 is below e0, h17 below e17: pods 0 and 5.
	if n, links := shortestPaths(routes.New(s, ends), ends, 0, 17); n != 9 || links != 6 {
		t.Errorf("%d paths of %d links", n, links)
	}
}

// Each host sends to one other host and receives from one.
func TestPermutationHasNoFixedPoint(t *testing.T) {
	for _, n := range []int{2, 3, 16, 1024} {
		s, receives := builtin(t, fmt.Sprintf("permutation-%d", n)), map[int]bool{}
		for i, f := range s.Flows {
			if f.From == f.To || f.From != i || receives[f.To] {
				t.Fatalf("%d hosts: flow %+v", n, f)
			}
			receives[f.To] = true
		}
		if len(s.Flows) != n || len(receives) != n {
			t.Errorf("%d hosts: %d flows, %d receivers", n, len(s.Flows), len(receives))
		}
	}
}

// All senders of an incast begin at the same instant, and below as many edge switches as
// there are.
func TestIncastComesFromTheWholeTree(t *testing.T) {
	s, edges := builtin(t, "incast-15"), map[int]int{}
	ends := s.PortMap()
	for _, f := range s.Flows {
		if s.Nodes[f.To].Name != "r0" || f.Size != unit.Megabyte || f.Start != 100*unit.Microsecond {
			t.Errorf("flow %+v", f)
		}
		edges[ends[f.From][0].Peer]++
	}
	if len(s.Flows) != 15 || len(edges) != 8 {
		t.Errorf("%d flows from %d edge switches", len(s.Flows), len(edges))
	}
}

// The spine that fails loses every link, and gets every link back.
func TestPathFailureTakesAWholeSpine(t *testing.T) {
	s := builtin(t, "path-failure")
	down, up := map[string]bool{}, map[string]bool{}
	for _, c := range s.Changes {
		switch c.Verb {
		case topology.ChangeLinkDown:
			down[c.Link] = true
		case topology.ChangeLinkUp:
			up[c.Link] = true
		default:
		}
	}
	for i := range 4 {
		if link := fmt.Sprintf("leaf%d--spine0", i); !down[link] || !up[link] {
			t.Errorf("%s fails: %t, returns: %t", link, down[link], up[link])
		}
	}
	for _, f := range s.Flows {
		if ends := s.PortMap(); ends[f.From][0].Peer == ends[f.To][0].Peer {
			t.Errorf("%s stays below its leaf", f.Name)
		}
	}
}
