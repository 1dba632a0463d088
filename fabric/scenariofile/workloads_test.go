package scenariofile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// loaded is a file with two workloads: of all NICs, and between two groups.
const loaded = `name: loaded
seed: 3
duration: 40ms
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h5: , r0..r1: }
switches: {s0: }
links:
  - endpoints: ["h0..h5, r0..r1", s0]
flows:
  - {name: F0, from: h0, to: r0, size: 1MB}
bursts:
  - {name: burst, from: h1..h3, to: r0, size: 64KB, at: 100us}
workloads:
  - {name: web, sizes: websearch, load: 0.5, until: 30ms}
  - {name: own, from: h0..h2, to: "h2, r0..r1", sizes: [[0, 0], [10KB, 97.25], [1MB, 100]], load: 0.01, start: 1ms}
`

func respelt(old, with string) string { return strings.Replace(loaded, old, with, 1) }

// flowsOf returns the flows of a workload.
func flowsOf(s *topology.Scenario, name string) (flows []topology.Flow) {
	for _, f := range s.Flows {
		if f.Burst >= 0 && s.Bursts[f.Burst].Name == name {
			flows = append(flows, f)
		}
	}
	return flows
}

func TestWorkloadFlowsAreInTimeOrder(t *testing.T) {
	s := parsed(t, loaded)
	web, own := flowsOf(s, "web"), flowsOf(s, "own")
	if len(s.Flows) != 1+3+len(web)+len(own) || s.Bursts[1].Flows != len(web) || !s.Bursts[1].Workload || s.Bursts[0].Workload {
		t.Errorf("%d flows, %d of web, %d of own, bursts %+v", len(s.Flows), len(web), len(own), s.Bursts)
	}
	// 8 NICs at 0.5 * 40 Gbit/s for 30 ms, mean 1.711 MB; 3 at a fiftieth of that for 39 ms, mean 18.75 KB.
	for _, c := range []struct{ got, want float64 }{{float64(len(web)), 350.6}, {float64(len(own)), 308.9}} {
		if math.Abs(c.got-c.want) > 4*math.Sqrt(c.want) {
			t.Errorf("%v flows, want about %v", c.got, c.want)
		}
	}
	for _, flows := range [][]topology.Flow{web, own} {
		if !slices.IsSortedFunc(flows, func(a, b topology.Flow) int { return int(a.Start - b.Start) }) {
			t.Error("flows are not in the order of time")
		}
	}
	if last := web[len(web)-1].Start; last >= 30*unit.Millisecond {
		t.Errorf("web goes on until %s", last)
	}
	pairs := map[string]bool{}
	for _, f := range own {
		pairs[s.Nodes[f.From].Name+s.Nodes[f.To].Name] = true
		if f.Start < unit.Millisecond || f.Size < 1 || f.Size > unit.Megabyte {
			t.Fatalf("%+v", f)
		}
	}
	if len(pairs) != 8 || pairs["h2h2"] { // 3 senders and 3 receivers, with one NIC in both groups
		t.Errorf("pairs %v", pairs)
	}
}

func TestWorkloadDependsOnSeedAndNameOnly(t *testing.T) {
	s := parsed(t, loaded)
	if diff := cmp.Diff(s, parsed(t, loaded)); diff != "" {
		t.Errorf("the same file gives other flows:\n%s", diff)
	}
	seed := uint64(4)
	other, err := Override(s, Overrides{Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(flowsOf(s, "web"), flowsOf(other, "web")) {
		t.Error("another seed gives the same flows")
	}
	alone := parsed(t, loaded[:strings.Index(loaded, "  - {name: own")])
	if !slices.EqualFunc(flowsOf(s, "web"), flowsOf(alone, "web"), alike) {
		t.Error("the flows of web depend on the other workload")
	}
	if shorter, err := Override(s, Overrides{Duration: 20 * unit.Millisecond}); err != nil {
		t.Error(err)
	} else if n := len(flowsOf(shorter, "web")); !slices.EqualFunc(flowsOf(s, "web")[:n], flowsOf(shorter, "web"), alike) || n == 0 {
		t.Errorf("a shorter run has other flows, %d of them", n)
	}
}

func alike(a, b topology.Flow) bool {
	return a.Name == b.Name && a.Size == b.Size && a.Start == b.Start
}

// A live run and its journal have exactly the flows of the batch run.
func TestLiveRunKeepsWorkloadFlows(t *testing.T) {
	s := parsed(t, loaded)
	live, err := ForLiveRun(s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := new(Journal).Text(live, 10*unit.Millisecond, unit.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	if journal := parsed(t, string(text)); !cmp.Equal(s.Flows, live.Flows) || !cmp.Equal(s.Flows, journal.Flows) {
		t.Errorf("%d flows, %d live, %d in the journal", len(s.Flows), len(live.Flows), len(journal.Flows))
	}
}

// A live journal that is replayed live also has the same flows.
func TestLiveJournalKeepsWorkloadFlows(t *testing.T) {
	s := parsed(t, loaded+"live: true\n")
	live, err := ForLiveRun(s)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(s.Flows, live.Flows) {
		t.Errorf("%d flows, %d live", len(s.Flows), len(live.Flows))
	}
}

func TestWorkloadManifestRoundTrips(t *testing.T) {
	same(t, parsed(t, loaded))
	rapid.Check(t, func(t *rapid.T) {
		points := "[0, 0]"
		size, percent := 0, 0
		for range rapid.IntRange(0, 5).Draw(t, "points") {
			size += rapid.IntRange(0, 1e6).Draw(t, "size")
			percent += rapid.IntRange(0, 19_000_000).Draw(t, "percent")
			points += fmt.Sprintf(", [%dB, %d.%06d]", size, percent/1e6, percent%1e6)
		}
		load := rapid.Float64Range(0.001, 0.3).Draw(t, "load")
		text := respelt("sizes: websearch, load: 0.5, until: 30ms", fmt.Sprintf("sizes: [%s, [5MB, 100]], load: %v, until: 1ms", points, load))
		text = strings.Replace(text, "load: 0.01", "load: 0.001", 1)
		s, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, text)
		}
		same(t, s)
	})
}

func TestSettingChangesWorkload(t *testing.T) {
	for setting, want := range map[topology.Setting]string{
		{Key: "web.load", Value: "0.7"}:         respelt("load: 0.5", "load: 0.7"),
		{Key: "web.sizes", Value: "hadoop"}:     respelt("sizes: websearch", "sizes: hadoop"),
		{Key: "workload.start", Value: "2ms"}:   strings.NewReplacer("load: 0.5", "load: 0.5, start: 2ms", "start: 1ms", "start: 2ms").Replace(loaded),
		{Key: "own.sizes", Value: "datamining"}: respelt("sizes: [[0, 0], [10KB, 97.25], [1MB, 100]]", "sizes: datamining"),
	} {
		got, err := ParseWith("f", []byte(loaded), []topology.Setting{setting})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parsed(t, want), got); diff != "" {
			t.Errorf("%v:\n%s", setting, diff)
		}
	}
}

func TestWorkloadErrorsNameKeyAndAllowedValues(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"load: 0.5", "load: 1.5", `14: workloads[0].load: "1.5" is not a number in [0.001, 1]`},
		{"load: 0.5, ", "", "14: workloads[0].load: is missing: payload sent by each NIC"},
		{"name: web", "name: burst", "14: workloads[0].name: burst is already the name of bursts[0] on line 12"},
		{"sizes: websearch", "sizes: w1", `14: workloads[0].sizes: "w1" is unknown, want one of websearch, hadoop, storage, datamining, or points like`},
		{"sizes: websearch", "sizes: {}", `14: workloads[0].sizes: a mapping is unknown`},
		{"sizes: websearch, ", "", "14: workloads[0].sizes: is missing: cumulative distribution of flow sizes, one of websearch,"},
		{"[10KB, 97.25]", "[10, 97.25]", `15: workloads[1].sizes: point 1: "10" has no unit, want a number and a unit, from 0B to 10GB`},
		{"[10KB, 97.25]", "[10KB, 101]", `15: workloads[1].sizes: point 1: "101" is not a number in [0, 100]`},
		{"[10KB, 97.25]", "[10KB, 97.1234567]", `point 1: "97.1234567" has more than 6 decimals`},
		{"[10KB, 97.25]", "[10, 101]", `point 1: "10" has no unit, want a number and a unit, from 0B to 10GB; "101" is not a number in [0, 100]`},
		{"[10KB, 97.25]", "10KB", "point 1: want a size and a percent, like [10KB, 80]"},
		{"[0, 0], [10KB, 97.25]", "[0, 1%], [10KB]", `point 0: "1%" is not a number in [0, 100]; point 1: want a size and a percent`},
		{"[10KB, 97.25]", "[2MB, 97.25]", "point 2: size or percent below that of point 1"},
		{", [1MB, 100]", "", "15: workloads[1].sizes: last point at 97.25 %, want 100"},
		{"until: 30ms", "until: 30ms, start: 30ms", "14: workloads[0].until: 30ms is not after start 30ms"},
		{"start: 1ms", "start: 40ms", "15: workloads[1].start: 40ms is not before the end of the run"},
		{"from: h0..h2", "from: s0", "15: workloads[1].from: s0 is a switch, want a NIC"},
		{`to: "h2, r0..r1"`, "to: h1", "15: workloads[1].to: h1 would send to itself"},
		{`to: "h2, r0..r1"`, "to: h9", "15: workloads[1].to: unknown node h9"},
		{"sizes: websearch", "sizes: [[0, 0], [100B, 100]]", "14: workloads[0]: creates about 12000004 flows, want at most 1048576 in all: a lower load, an earlier until, larger sizes or fewer NICs"},
	} {
		text := respelt(c.old, c.with)
		if text == loaded {
			t.Fatalf("%q is not there", c.old)
		}
		_, err := Parse("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n got %v\nwant one line, and %s", c.with, err, c.want)
		}
	}
}
