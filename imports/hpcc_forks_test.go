package imports

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

func testdata(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// IMP-4: Flows of the simulator and its forks are the same, without a destination port and with a number before them.
func TestHPCCForks(t *testing.T) {
	for _, c := range []struct{ flows, note string }{
		{testdata(t, "conweave-flow.txt"), "flow.txt: flows have no destination port: exports have 100"},
		{"2\n0 1 3 100 1000 2.0\n1 0 3 100 70000 2.1\n", ""},
		{"2\n7 0 1 3 100 1000 2.0\n\n8 1 0 3 100 70000 2.1\n", "flow.txt: ignored: the numbers before the sources of flows"},
	} {
		s, notes := imported(t, testdata(t, "three-topology.txt"), c.flows, nil)
		want := []topology.Flow{{Name: "F0", From: 0, To: 1, Size: 1000}, {Name: "F1", From: 1, To: 0, Size: 70000, Start: 100 * unit.Millisecond}}
		for i, f := range s.Flows {
			if w := want[i]; f.Name != w.Name || f.From != w.From || f.To != w.To || f.Size != w.Size || f.Start != w.Start {
				t.Errorf("%q: flow %d is %+v", c.flows, i, f)
			}
		}
		if len(s.Flows) != 2 || !strings.Contains(notes, c.note) || c.note == "" && strings.Count(notes, "\n") > 0 {
			t.Errorf("%q: notes\n%s\nlack %q", c.flows, notes, c.note)
		}
	}
}

// IMP-12: A line of another number of words is one fault, with the line and the number, and does not blame the lines after it.
func TestHPCCLinesOfOtherForks(t *testing.T) {
	const flowForms = "want 6: source, destination, priority group, destination port, size and start of a flow; or 5, without the port, or 7, with a number before them"
	many := func(n int, line string) string { return fmt.Sprintln(n) + strings.Repeat(line+"\n", n) }
	for _, c := range []struct{ topology, flows, want string }{
		{smallTopology, many(300, "0 1 3 100 1000 2.0 9 9 9"), "flow.txt:2: 9 words, " + flowForms},
		{smallTopology, many(300, "0 1 1000 2.0"), "flow.txt:2: 4 words, " + flowForms},
		{smallTopology, "3\n0 1 3 100 1000 2.0\n0 1 3 1000 2.0\n0 1 3 100 1000 2.0\n", "flow.txt:3: 5 words, want 6 as on line 2"},
		{smallTopology, "3 0 2.0 2.1 9\n" + strings.Repeat("0 1 3 100 1000 2.0\n", 3), "flow.txt:1: 5 words, want 1: the number of flows"},
		{"5 2 4 1 1 1 1 1 1\n" + smallTopology[6:], "0\n", "topology.txt:1: 9 words, want 3: the numbers of nodes, switches and links"},
		{strings.ReplaceAll(smallTopology, "bps ", "bps 1000 "), "0\n", "topology.txt:3: 6 words, want 5: both ends of a link, rate, delay and error rate"},
		{smallTopology, "3\n0 1 3 100 1000 2.0\n", "flow.txt:3: the file ends before source"},
	} {
		_, err := HPCC(File{"topology.txt", []byte(c.topology)}, File{"flow.txt", []byte(c.flows)}, nil)
		if got := message(err); got != c.want {
			t.Errorf("%.40q, %.40q:\n%s\nwant\n%s", c.topology, c.flows, got, c.want)
		}
	}
}

// IMP-4: A host with several links has one, to a switch of its own that has these links, and the delays of paths stay.
func TestHPCCUplinks(t *testing.T) {
	const topo = "4 2 4\n2 3\n0 2 100Gbps 1us 0\n0 3 100Gbps 1us 0\n1 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n"
	config := "CC_MODE 1\nKMAX_MAP 1 100000000000 1600\nKMIN_MAP 1 100000000000 400\nPMAX_MAP 1 100000000000 0.2\nLINK_DOWN 100 0 2\nSIMULATOR_STOP_TIME 2.1"
	s, notes := imported(t, topo, "1\n0 1 3 100 1000 2\n", &config)
	var links []string
	for _, l := range s.Links {
		links = append(links, fmt.Sprintf("%s--%s %s %s", s.Nodes[l.A].Name, s.Nodes[l.B].Name, l.Rate, l.Delay))
	}
	want := "g0--s2 100Gbps 750ns, g0--s3 100Gbps 750ns, g1--s2 100Gbps 750ns, g1--s3 100Gbps 750ns, h0--g0 100Gbps 250ns, h1--g1 100Gbps 250ns"
	if got := strings.Join(links, ", "); got != want {
		t.Errorf("links %s\nwant %s", got, want)
	}
	if c := s.Changes; len(c) != 1 || c[0].Link != "g0--s2" {
		t.Errorf("changes %+v", c)
	}
	if want := "topology.txt: 2 hosts have several links: each has one, with the highest rate, to a switch g of its own, which has these links"; !strings.Contains(notes, want) {
		t.Errorf("notes\n%s\nlack %s", notes, want)
	}
}
