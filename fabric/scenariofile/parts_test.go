package scenariofile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/topology"
)

// pods is a rack of two pods. Aggregation switch i is in pod i/2.
const pods = `
name: pods
duration: 1ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h3: }
switches: {e0..e3: , a0..a3: , c0..c3: }
links:
  - {endpoints: [h0..h3, e0..e3], parts: 4}
  - {endpoints: [e0..e3, a0..a3], parts: 2}
  - {endpoints: [a0..a3, c0..c3], parts: 2, interleave: true}
flows:
  - {name: f, from: h0..h3, to: "h2, h3, h0..h1", size: 10KB}
  - {name: single, from: h0, to: h1, size: 10KB}
`

// Only the names of corresponding parts are linked, and each sender has one receiver. The
// manifest preserves both.
func TestPartsOfEnds(t *testing.T) {
	s := parsed(t, pods)
	same(t, s)
	var links, flows []string
	for i := range s.Links {
		links = append(links, s.DirectionNames(i)[topology.Forth])
	}
	for _, f := range s.Flows {
		flows = append(flows, f.Name+" "+s.Nodes[f.From].Name+"->"+s.Nodes[f.To].Name)
	}
	want := []string{
		"h0->e0", "h1->e1", "h2->e2", "h3->e3",
		"e0->a0", "e0->a1", "e1->a0", "e1->a1", "e2->a2", "e2->a3", "e3->a2", "e3->a3",
		"a0->c0", "a0->c1", "a1->c2", "a1->c3", "a2->c0", "a2->c1", "a3->c2", "a3->c3",
	}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"f-h0 h0->h2", "f-h1 h1->h3", "f-h2 h2->h0", "f-h3 h3->h1", "single h0->h1"}, flows); diff != "" {
		t.Error(diff)
	}
}

// Parts must be equal, and receivers as many as senders.
func TestFaultsOfPartsAndPairs(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"parts: 4", "parts: 3", "links[0].parts: 3 does not divide both 4 and 4 names"},
		{"h0..h3, e0..e3], parts: 4", "h0..h3, e0], parts: 2", "links[0].parts: 2 does not divide both 4 and 1 names"},
		{"parts: 4", "parts: 0", "links[0].parts: \"0\" is not an integer from 1 to"},
		{`"h2, h3, h0..h1"`, "h2..h3", "flows[0].to: 4 senders need as many receivers, not 2; a burst sends from several NICs to one"},
		{`"h2, h3, h0..h1"`, "h0..h3", "flows[0].to: h0 would send to itself"},
		{"name: single", "name: f-h2", "flows[1].name: f-h2 is already the name of flows[0] on line"},
		{"name: f,", "name: " + strings.Repeat("f", 61) + ",", "flows[0].name: h0 would be called"},
		{"from: h0, to: h1", "from: [], to: h1", "flows[1].from: "},
	} {
		if strings.Count(pods, c.old) != 1 {
			t.Fatalf("the rack has %q %d times", c.old, strings.Count(pods, c.old))
		}
		if _, err := Parse("pods.yaml", []byte(strings.Replace(pods, c.old, c.with, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.with, err, c.want)
		}
	}
}

// The large racks in testdata have the sizes that their names give, and every host
// sends and receives one flow.
func TestLargeRacks(t *testing.T) {
	files, err := filepath.Glob("testdata/racks/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		if !slowtest.Enabled() && strings.Contains(file, "65536") {
			t.Logf("%s is left out: set %s=1", file, slowtest.Variable)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(file, text)
		if err != nil {
			t.Error(err)
			continue
		}
		hosts, from, to := 0, map[int]bool{}, map[int]bool{}
		for range s.NodesOf(topology.NIC) {
			hosts++
		}
		for _, f := range s.Flows {
			from[f.From], to[f.To] = true, true
		}
		name, _ := strings.CutSuffix(filepath.Base(file), ".yaml")
		if s.Name != name || !strings.HasSuffix(name, fmt.Sprintf("-%d", hosts)) || len(from) != hosts || len(to) != hosts || len(s.Flows) != hosts {
			t.Errorf("%s: scenario %s of %d hosts, %d senders, %d receivers, %d flows", file, s.Name, hosts, len(from), len(to), len(s.Flows))
		}
	}
}
