package lab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/rack"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// diamond has two paths between its sides.
const diamond = `
name: diamond
duration: 100us
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0: , r0: }
switches: {s0..s3: }
links:
  - endpoints: [h0, s0]
  - endpoints: [s0, s1..s2]
  - endpoints: [s1..s2, s3]
  - endpoints: [r0, s3]
flows:
`

// The reported path of a flow is the path of its frames, also around a failed link.
func TestPathsMatchTheFrames(t *testing.T) {
	text := strings.Builder{}
	text.WriteString(diamond)
	for i := range 12 {
		fmt.Fprintf(&text, "  - {name: F%d, from: h0, to: r0, size: 8KB}\n", i)
	}
	for _, cut := range []string{"", "s0--s1", "s2--s3"} {
		s, err := scenariofile.Parse("diamond", []byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		l, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if cut != "" {
			if err := l.Change(topology.Change{Verb: topology.ChangeLinkDown, Link: cut}); err != nil {
				t.Fatal(err)
			}
		}
		ends := s.PortMap()
		taken := map[fabric.FlowID]map[int]bool{} // where they went from s0
		l.PerFrame = true
		l.Listen = func(node int, notes []fabric.Note) {
			for _, n := range notes {
				if peer := ends[node][n.Port].Peer; n.Kind == fabric.Enqueued && s.Nodes[node].Name == "s0" && peer != s.Flows[0].From {
					if taken[n.Flow] == nil {
						taken[n.Flow] = map[int]bool{}
					}
					taken[n.Flow][peer] = true
				}
			}
		}
		l.Run(100 * unit.Microsecond)
		paths := rack.NewPaths(l.Scenario(), scenariofile.StateBefore(l.Scenario(), 1).Down)
		ways := map[int]int{}
		for i, f := range s.Flows {
			path := paths.Of(f)
			if len(path) != 5 {
				t.Fatalf("cut %q: %s goes %v", cut, f.Name, path)
			}
			ways[path[2]]++
			if seen := taken[fabric.FlowID(i)]; len(seen) != 1 || !seen[path[2]] {
				t.Errorf("cut %q: %s has path %v, its frames took %v", cut, f.Name, path, taken[fabric.FlowID(i)])
			}
		}
		if want := 2; cut == "" && len(ways) != want || cut != "" && len(ways) != 1 {
			t.Errorf("cut %q: ways %v", cut, ways)
		}
	}
}
