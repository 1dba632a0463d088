package imports

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The order of the ranks is that of their numbers.
func TestChakraRanks(t *testing.T) {
	var files []File
	want := "programs:\n"
	for i := range 12 {
		files = append(files, etFile(fmt.Sprintf("t.%d.et", 11-i), compNode(uint64(11-i), 1)))
		want += fmt.Sprintf("  h%d: |\n    n%[1]d: calc 1us\n", i)
	}
	if out, err := Chakra(files, nil, nil, testLayout); err != nil || !strings.HasSuffix(string(out.Scenario), want) {
		t.Errorf("%v", err)
	}
}

// Collectives are in the order of the names of their groups.
func TestChakraOrder(t *testing.T) {
	groups, want := map[string][]int{}, ""
	var list nodes
	for i := range 8 {
		group := fmt.Sprint(i + 1)
		groups[group] = []int{0, 1}
		list = append(list, collNode(uint64(i), 0, int64(i+10), group))
		want += fmt.Sprintf("  - {name: coll%d, kind: all-reduce, ranks: [h0..h1], size: %dB}\n", i, i+10)
	}
	text, err := json.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Chakra([]File{etFile("t.0.et", list...), etFile("t.1.et", list...)}, &File{"g.json", text}, nil, testLayout)
	if err != nil || !strings.HasSuffix(string(out.Scenario), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A node that is left out passes on 16 waits. With one more it becomes a step.
func TestChakraPassedOn(t *testing.T) {
	for _, c := range []struct {
		waits int
		want  string
	}{
		{16, "    n16: calc 1us\n    n99: calc 1us after n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15, n16\n"},
		{17, "    n17: calc 1us\n    n50: calc 0s on 2 after n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15, n16, n17\n    n99: calc 1us after n50\n"},
	} {
		var list nodes
		var deps []uint64
		for i := range uint64(c.waits) {
			list = append(list, compNode(i+1, 1))
			deps = append(deps, i+1)
		}
		list = append(list, metaNode(50, deps...), compNode(99, 1, 50))
		if out, err := chakraOf(list, nil); err != nil || !strings.HasSuffix(string(out.Scenario), c.want) {
			t.Errorf("%d: %v", c.waits, err)
		}
	}
}

// The rack may be that of a scenario with a host for each rank.
func TestChakraTopology(t *testing.T) {
	const rack = "name: r\nduration: 1ms\nscheme: pfc\nnics: {h0..h1: }\nswitches: {s0: }\nlinks:\n  - {endpoints: [h0..h1, s0], rate: 40Gbps, delay: 2us}\n"
	traces := func() []File {
		return []File{etFile("t.0.et", collNode(1, 9, 0, "")), etFile("t.1.et", collNode(1, 9, 0, ""))}
	}
	out, err := Chakra(traces(), nil, &File{"rack.yaml", []byte(rack)}, testLayout)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := scenariofile.Parse("x", out.Scenario); err != nil || s.Name != "r" || len(s.Collectives) != 1 || s.Links[0].Rate != 40*unit.GigabitPerSec {
		t.Errorf("%v\n%s", err, out.Scenario)
	}
	for _, c := range []struct {
		traces     []File
		rack, want string
	}{
		{append(traces()[:0], etFile("t.0.et"), etFile("t.1.et"), etFile("t.2.et")), rack, "rack.yaml: no NIC h2, which runs t.2.et"},
		{traces(), string(out.Scenario), "rack.yaml: has collectives already"},
		{traces(), rack + "programs: {h0: calc 1us}\n", "rack.yaml: has programs already"},
		{traces(), "name: [", "rack.yaml:1: "},
	} {
		if _, err := Chakra(c.traces, nil, &File{"rack.yaml", []byte(c.rack)}, testLayout); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
