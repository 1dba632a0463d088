package imports

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

// randomRank draws the nodes of a rank. Some compute, and wait for few before them; others are left out, and wait for
// many.
func randomRank(t *rapid.T) (list nodes) {
	for id := range uint64(rapid.IntRange(1, 60).Draw(t, "nodes")) {
		n, few := compNode(id, id), 40
		if rapid.Bool().Draw(t, "left out") {
			n, few = metaNode(id), 3
		}
		for dep := range id {
			switch rapid.IntRange(0, few).Draw(t, "wait") {
			case 0:
				n.CtrlDeps = append(n.CtrlDeps, dep)
			case 1:
				n.DataDeps = append(n.DataDeps, dep)
			}
		}
		list = append(list, n)
	}
	return list
}

// IMP-1: A calculation waits, perhaps through steps without time, for exactly the calculations that its node waits for,
// perhaps through nodes that are left out.
func TestChakraWaitsAreThoseOfNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := randomRank(t)
		out, err := Chakra([]File{etFile("t.0.et", list...)}, nil, nil, testLayout)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenariofile.Parse("s", out.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		waits := waitsOf(s)
		before := make([]map[string]bool, len(list)) // all that a node waits for
		for i, n := range list {
			before[i] = map[string]bool{}
			for _, dep := range append(n.GetCtrlDeps(), n.GetDataDeps()...) {
				before[i][fmt.Sprintf("n%d", dep)] = true
				for name := range before[dep] {
					before[i][name] = true
				}
			}
		}
		for i, n := range list {
			for k, other := range list {
				a, b := fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", k)
				if isComp(n) && isComp(other) && waits[a][b] != before[i][b] {
					t.Fatalf("%s waits for %s: %v, want %v\n%s", a, b, waits[a][b], before[i][b], out.Scenario)
				}
			}
		}
	})
}

func isComp(n *chakrav1.Node) bool { return n.GetType() == chakrav1.NodeType_NODE_TYPE_COMP }

// waitsOf returns all steps that each step of the first host waits for, by their labels. Steps come after those that they
// wait for.
func waitsOf(s *topology.Scenario) map[string]map[string]bool {
	waits := map[string]map[string]bool{}
	if len(s.Steps) == 0 {
		return waits
	}
	h := &s.Steps[0]
	for i := range h.Len() {
		all := map[string]bool{}
		for _, c := range h.Conditions(i) {
			other := h.Labels[c.Step()]
			all[other] = true
			for name := range waits[other] {
				all[name] = true
			}
		}
		waits[h.Labels[i]] = all
	}
	return waits
}
