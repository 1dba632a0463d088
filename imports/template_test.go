package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// layoutOf returns the layout of a template.
func layoutOf(t *testing.T, text string) Layout {
	t.Helper()
	made, err := scenariofile.ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return ByTemplate(made)
}

// onTemplate are imports of files with several hosts.
var onTemplate = []struct {
	what  string
	hosts int
	needs string // beginning of the error if the template has too few hosts
	make  func(t *testing.T, l Layout) (*Imported, error)
}{
	{"goal", 3, "t.goal has 3 ranks", func(_ *testing.T, l Layout) (*Imported, error) {
		return GOAL(File{"t.goal", []byte("num_ranks 3\nrank 0 { send 5b to 2 }\nrank 2 { recv 5b from 0 }\n")}, nil, l)
	}},
	{"htsim", 3, "t.cm:1: Nodes 3", func(_ *testing.T, l Layout) (*Imported, error) {
		return HTSim(File{"t.cm", []byte("Nodes 3\nConnections 1\n0->2 id 1 start 0 size 1000\n")}, HTSimSetup{Layout: &l, Start: unit.Microsecond})
	}},
	{"chakra", 4, "training.0.et and others have 4 ranks", func(t *testing.T, l Layout) (*Imported, error) {
		var traces []File
		for _, name := range []string{"training.0.et", "training.1.et", "training.2.et", "training.3.et"} {
			traces = append(traces, sample(t, name))
		}
		return Chakra(traces, nil, nil, l)
	}},
	{"simai", 8, "w.txt has 8 GPUs", func(_ *testing.T, l Layout) (*Imported, error) {
		return SimAI(smallWorkload, nil, nil, l)
	}},
	{"pcap", 2, "requests.pcapng has 2 addresses", func(t *testing.T, l Layout) (*Imported, error) {
		return PCAP(sample(t, "requests.pcapng"), nil, l)
	}},
}

// sample reads a file of testdata.
func sample(t *testing.T, name string) File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return File{name, data}
}

// IMP-13: The hosts of the files are the first hosts of a template. One with too few hosts is an error.
func TestImportsOnATemplate(t *testing.T) {
	for _, c := range onTemplate {
		out, err := c.make(t, layoutOf(t, "leaf-spine:leaves=2,hosts=4,rate=400Gbps,delay=20us"))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		s, err := scenariofile.Parse(c.what, out.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Nodes) != 8+2+4 || s.Nodes[5].Name != "h5" || s.LinkNamed("h5--leaf1") < 0 || s.Links[0].Rate != 400*unit.GigabitPerSec {
			t.Errorf("%s: %d nodes\n%s", c.what, len(s.Nodes), out.Scenario)
		}
		want := fmt.Sprintf("%s, but template star:hosts=%d has %[2]d hosts: want a template with at least %[3]d", c.needs, c.hosts-1, c.hosts)
		if _, err := c.make(t, layoutOf(t, fmt.Sprintf("star:hosts=%d", c.hosts-1))); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", c.what, err, want)
		}
		if _, err := c.make(t, layoutOf(t, fmt.Sprintf("star:hosts=%d", c.hosts))); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// A run on a template is longer if the hosts have less of its rate, or its links are longer.
func TestTemplateSetsTheLengthOfTheRun(t *testing.T) {
	trace := File{"t.goal", []byte("num_ranks 2\nrank 0 { send 10000000b to 1 }\nrank 1 { recv 10000000b from 0 }\n")}
	last := unit.Time(0)
	for _, text := range []string{"fat-tree", "fat-tree:delay=100us", "fat-tree:rate=10Gbps,delay=100us", "fat-tree:rate=10Gbps,delay=100us,oversubscription=4"} {
		out, err := GOAL(trace, nil, layoutOf(t, text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenariofile.Parse("scenario", out.Scenario)
		if err != nil || s.Duration <= last {
			t.Errorf("%s: %v after %s: %v", text, s.Duration, last, err)
		}
		last = s.Duration
	}
}
