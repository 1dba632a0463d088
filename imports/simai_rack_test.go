package imports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Files of SimAI: two servers with two GPUs and an NVLink switch each, two rails and a switch above them.
const (
	twoServers = "9 2 2 3 10 H100\n4 5 6 7 8\n" +
		"0 4 2880Gbps 0.00004ms 0\n0 6 400Gbps 0.0005ms 0\n1 4 2880Gbps 0.00004ms 0\n1 7 400Gbps 0.0005ms 0\n" +
		"2 5 2880Gbps 0.00004ms 0\n2 6 400Gbps 0.0005ms 0\n3 5 2880Gbps 0.00004ms 0\n3 7 400Gbps 0.0005ms 0\n" +
		"6 8 400Gbps 0.0005ms 0\n7 8 400Gbps 0.0005ms 0\n"
	simaiConfig = "ENABLE_QCN 1\n\nPACKET_PAYLOAD_SIZE 9000\nSIMULATOR_STOP_TIME 40000000000000.00\nCC_MODE 1\nLINK_DOWN 10 0 6\nBUFFER_SIZE 32\n" +
		"KMAX_MAP 2 100000000000 1600 400000000000 3200\nKMIN_MAP 2 100000000000 400 400000000000 800\nPMAX_MAP 2 100000000000 0.1 400000000000 0.2\n"
)

var twoLayers = []string{"a -1 5 ALLREDUCE 80000 6 ALLGATHER 90000 7 NONE 0 9", "b -1 1 NONE 0 2 NONE 0 3 ALLREDUCE 70000 9"}

// racked imports a workload of two layers on a topology.
func racked(t *testing.T, keys, topo, config string) (*topology.Scenario, *Imported) {
	t.Helper()
	var c *File
	if config != "" {
		c = &File{"SimAI.conf", []byte(config)}
	}
	out, err := SimAI(workloadOf(keys, twoLayers...), &File{"t.topo", []byte(topo)}, c, DefaultLayout)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenariofile.Parse("imported.yaml", out.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	return s, out
}

// delayOf returns the delay of the links between nodes, one after the other.
func delayOf(t *testing.T, s *topology.Scenario, nodes ...string) (sum unit.Time) {
	t.Helper()
	for i, node := range nodes[1:] {
		at := max(s.LinkNamed(nodes[i]+"--"+node), s.LinkNamed(node+"--"+nodes[i]))
		if at < 0 {
			t.Fatalf("no link from %s to %s", nodes[i], node)
		}
		sum += s.Links[at].Delay
	}
	return sum
}

// IMP-16: A GPU with several links has one to a switch of its own, which has the others. The delays of paths are those of the
// file.
func TestSimAITopology(t *testing.T) {
	s, out := racked(t, "model_parallel_NPU_group: 2 all_gpus: 4", twoServers, "")
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	if want := "h0 h1 h2 h3 s4 s5 s6 s7 s8 g0 g1 g2 g3"; strings.Join(names, " ") != want || len(s.Links) != 14 {
		t.Errorf("nodes %s and %d links, want %s", strings.Join(names, " "), len(s.Links), want)
	}
	for _, c := range []struct {
		want  unit.Time
		nodes []string
	}{
		{80 * unit.Nanosecond, []string{"h0", "g0", "s4", "g1", "h1"}},
		{1000 * unit.Nanosecond, []string{"h0", "g0", "s6", "g2", "h2"}},
		{2000 * unit.Nanosecond, []string{"h0", "g0", "s6", "s8", "s7", "g3", "h3"}},
		{10 * unit.Nanosecond, []string{"h0", "g0"}},
	} {
		if got := delayOf(t, s, c.nodes...); got != c.want {
			t.Errorf("%v: delay %s, want %s", c.nodes, got, c.want)
		}
	}
	if l := s.Links[s.LinkNamed("h0--g0")]; l.Rate != 2880*unit.GigabitPerSec {
		t.Errorf("%+v", l)
	}
	want := "t.topo: ignored: 2 GPUs per server and type H100, the links show the servers\n" +
		"t.topo: 4 GPUs have several links: each has one, with the highest rate, to a switch g of its own, which has these links\n"
	if notes := strings.Join(out.Notes, "\n"); !strings.HasPrefix(notes, want) {
		t.Errorf("notes\n%s\nwant\n%s", notes, want)
	}
}

// IMP-16: GPUs with one link keep it, those linked to each other have switches of their own, and others are idle.
func TestSimAIDirectLinks(t *testing.T) {
	s, out := racked(t, "model_parallel_NPU_group: 2 all_gpus: 2", "4 3 0 1 4 A100\n3\n0 1 100Gbps 2ns 0\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0.01\n", "")
	if got := delayOf(t, s, "h0", "g0", "g1", "h1"); got != 4*unit.Nanosecond { // shorter than the shortest links
		t.Errorf("delay %s", got)
	}
	if got := delayOf(t, s, "h2", "s3"); got != unit.Microsecond || s.Links[s.LinkNamed("h2--s3")].Loss != (topology.Ways{0.01, 0.01}) {
		t.Errorf("delay %s", got)
	}
	if notes := strings.Join(out.Notes, "\n"); !strings.Contains(notes, "w.txt:1: all_gpus: 2: the other 1 GPUs of the topology are idle") {
		t.Errorf("notes\n%s", notes)
	}
}

// IMP-16: The configuration has the keys of the HPCC simulator's. A rate without thresholds has those of the next lower one, a GPU's
// own switch those of its slowest link, and a link that fails is that of this switch.
func TestSimAIConfiguration(t *testing.T) {
	s, out := racked(t, "model_parallel_NPU_group: 2", twoServers, simaiConfig)
	if s.Scheme != "dcqcn" || s.Nodes[0].NIC.Payload != 9000 || s.Nodes[0].Name != "h0" {
		t.Errorf("scheme %s, %+v", s.Scheme, s.Nodes[0].NIC)
	}
	for _, n := range s.Nodes[4:] {
		if sw := n.Switch; sw.Kmin != 800*unit.Kilobyte || sw.Kmax != 3200*unit.Kilobyte || sw.Pmax != 0.2 || sw.Buffer != 32<<20 {
			t.Errorf("%s is %+v", n.Name, sw)
		}
	}
	if len(s.Changes) != 0 {
		t.Errorf("changes %+v", s.Changes)
	}
	notes := strings.Join(out.Notes, "\n")
	for _, want := range []string{
		"SimAI.conf:4: ignored: SIMULATOR_STOP_TIME, later than 1000s",
		"SimAI.conf: ignored: ENABLE_QCN",
		"no thresholds for links of 2.88Tbps: they have those for 400Gbps",
		"SimAI.conf: ignored: LINK_DOWN at 2.00001s, after the end of the run",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes\n%s\nlack %s", notes, want)
		}
	}
	twoLayers := strings.Replace(string(workloadOf("model_parallel_NPU_group: 2", twoLayers...).Data), "-1 5", "-1 3000000000", 1)
	out, err := SimAI(File{"w.txt", []byte(twoLayers)}, &File{"t.topo", []byte(twoServers)}, &File{"SimAI.conf", []byte(simaiConfig)}, DefaultLayout)
	if err != nil || !strings.HasSuffix(string(out.Scenario), "changes:\n  - {at: 2.00001s, link_down: g0--s6}\n") {
		t.Errorf("%v\n%s", err, out.Scenario)
	}
}

// IMP-16: The thresholds of a switch are those for its fastest link, and of a GPU's own switch those for the slowest one.
func TestSimAIThresholds(t *testing.T) {
	maps := strings.NewReplacer("KMAX_MAP 2 ", "KMAX_MAP 3 2880000000000 9600 ", "KMIN_MAP 2 ", "KMIN_MAP 3 2880000000000 2400 ", "PMAX_MAP 2 ", "PMAX_MAP 3 2880000000000 0.3 ")
	s, _ := racked(t, "model_parallel_NPU_group: 2", twoServers, maps.Replace(simaiConfig))
	for _, n := range s.Nodes[4:] {
		want := 800 * unit.Kilobyte
		if n.Name == "s4" || n.Name == "s5" {
			want = 2400 * unit.Kilobyte
		}
		if n.Switch.Kmin != want {
			t.Errorf("kmin of %s is %s, want %s", n.Name, n.Switch.Kmin, want)
		}
	}
}

// IMP-16: A buffer that is too small for the headroom of the ports is larger in the scenario, with a note.
func TestSimAIBuffers(t *testing.T) {
	s, out := racked(t, "model_parallel_NPU_group: 2", strings.ReplaceAll(twoServers, "0.0005ms", "0.02ms"), strings.Replace(simaiConfig, "BUFFER_SIZE 32", "BUFFER_SIZE 10", 1))
	if small, large := s.Nodes[4].Switch.Buffer, s.Nodes[6].Switch.Buffer; small != 10<<20 || large < 20<<20 {
		t.Errorf("buffers %s and %s", small, large)
	}
	if notes := strings.Join(out.Notes, "\n"); !strings.Contains(notes, "7 switches have a larger buffer than BUFFER_SIZE, for the headroom of their ports") {
		t.Errorf("notes\n%s", notes)
	}
}

// IMP-12: All faults of all files are reported, each with file and line.
func TestSimAIFaults(t *testing.T) {
	const keys = "model_parallel_NPU_group: 2 all_gpus: "
	for name, c := range map[string]struct {
		workload           File
		topo, config, want string
	}{
		"all files": {
			workloadOf("model_parallel_NPU_group: 0 ep:", "a -2 -1 SUM x 6 ALLGATHER_TP 90 7 NONE 0"),
			"4 2 0 1 2 A100\n0\n0 3 fast 1us 0\n1 3 1Gbps 1us 0\n", "CC_MODE 1\nRATE_AI x\n",
			`w.txt:1: model_parallel_NPU_group "0", want an integer from 1 to 131071
w.txt:1: ep: without a value
w.txt:3: layer that it depends on "-2", want an integer from -1 to 2147483647
w.txt:3: time of the forward in ns "-1", want an integer from 0 to 1000000000000
w.txt:3: size of the forward's collective "x", want an integer from 0 to 1099511627776
w.txt:3: collective "SUM" of the forward, want NONE, ALLGATHER, ALLREDUCE, ALLREDUCEALLTOALL, ALLTOALL, REDUCESCATTER, alone or with _EP or _DP_EP
w.txt:3: collective "ALLGATHER_TP" of the input gradient, want NONE, ALLGATHER, ALLREDUCE, ALLREDUCEALLTOALL, ALLTOALL, REDUCESCATTER, alone or with _EP or _DP_EP
w.txt:4: the file ends before update time in ns
t.topo:3: rate "fast", want 1Kbps to 10Tbps, like 100Gbps or 50Mb/s
t.topo:4: host 2 has no link
t.topo:2: node 0 is a switch, want GPUs 0 to 2 and switches after them
SimAI.conf:2: RATE_AI "x", want 1Kbps to 10Tbps, like 100Gbps or 50Mb/s`,
		},
		"empty":       {File{"w.txt", nil}, "", "", "w.txt:1: policy \"\", want HYBRID_TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD, MICRO\nw.txt:2: the file ends before the number of layers"},
		"policy":      {File{"w.txt", []byte("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 5\n1\na -1 1 NONE 0 2 NONE 0 3 NONE 0 0\n")}, "", "", `w.txt:1: policy "HYBRID_DLRM", want `},
		"no tensor":   {workloadOf("ep: 1 all_gpus: 2", twoLayers...), "", "", "w.txt:1: no model_parallel_NPU_group"},
		"suffix":      {workloadOf(keys+"2", "a -1 1 ALLREDUCE_DP 5 2 NONE 0 3 NONE 0 0"), "", "", `w.txt:3: collective "ALLREDUCE_DP" of the forward, want NONE, `},
		"no size":     {workloadOf("model_parallel_NPU_group: 2", twoLayers...), "", "", "w.txt:1: no all_gpus: want it, or a topology"},
		"too many":    {workloadOf(keys+"8", twoLayers...), twoServers, "", "w.txt:1: all_gpus: 8, but the topology has 4 GPUs"},
		"multiple":    {workloadOf(keys+"9", twoLayers...), "", "", "w.txt:1: all_gpus: 9 is not a multiple of model_parallel_NPU_group: 2 times pp: 1"},
		"experts":     {workloadOf("ep: 3 "+keys+"8", twoLayers...), "", "", "w.txt:1: ep: 3 does not divide 4, which is all_gpus: 8 by model_parallel_NPU_group: 2 and pp: 1"},
		"layers":      {workloadOf(keys+"100000", strings.Split(strings.TrimSpace(strings.Repeat("a -1 1 NONE 0 2 NONE 0 3 NONE 0 0\n", 11)), "\n")...), "", "", "w.txt:2: 11 layers of 100000 GPUs, want a product of at most 1048576"},
		"group":       {workloadOf(keys+"10000", twoLayers...), "", "", "w.txt:2: all-reduce of 70KB among 5000 ranks: 5000 ranks, want 2 to 4096"},
		"collectives": {workloadOf(keys+"4", slices.Repeat([]string{"a -1 1 ALLREDUCE 5 2 ALLREDUCE 5 3 NONE 0 0"}, 20000)...), "", "", "w.txt:2: 80000 collectives in the groups of 4 GPUs, want at most 65536"},
		"checkpoints": {workloadOf(keys+"2 checkpoints: 1 1 checkpoint_initiates: 1 1", twoLayers...), "", "", "w.txt:1: checkpoint_initiates: layer 1, but none of checkpoints is before it"},
		"initiates":   {workloadOf(keys+"2 checkpoint_initiates: 1 2", twoLayers...), "", "", "w.txt:1: checkpoint_initiates: want layers from 0 to 1"},
		"list":        {workloadOf(keys+"2 checkpoints: 3 1", twoLayers...), "", "", "w.txt:1: checkpoints: 3 layers, but 1 are given"},
		"pp_comm":     {workloadOf(keys+"4 pp: 2 pp_comm: many", twoLayers...), "", "", "w.txt:1: pp_comm \"many\", want 0 to 2147483647 bytes\nw.txt:1: pp: 2 without pp_comm, the bytes from stage to stage"},
		"batches":     {workloadOf(keys+"4 pp: 2 ga: 2 pp_comm: 5", twoLayers...), "", "", "w.txt:1: ga: 2 microbatches, but no layers are repeated 2 times by name, so that it is unknown when the 2 stages exchange data"},
		"topology":    {workloadOf(keys+"2", twoLayers...), "4 2\n", "", "t.topo:1: 2 words, want 6: the numbers of nodes, GPUs per server, NVLink switches, other switches and links, and the type of GPU"},
		"switches":    {workloadOf(keys+"2", twoLayers...), "2 2 1 2 1 A100\n1 0 1\n0 1 1Gbps 1us 0", "", "t.topo:1: 3 of 2 nodes are switches"},
	} {
		var topo, config *File
		if c.topo != "" {
			topo = &File{"t.topo", []byte(c.topo)}
		}
		if c.config != "" {
			config = &File{"SimAI.conf", []byte(c.config)}
		}
		if _, err := SimAI(c.workload, topo, config, DefaultLayout); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant\n%s", name, err, c.want)
		}
	}
}

var largeRack = regexp.MustCompile(`all_gpus:?\s+\+?[0-9]{3}`)

// IMP-12: No input panics, and what is accepted is a valid scenario.
func FuzzSimAI(f *testing.F) {
	f.Add(string(smallWorkload.Data), "", "")
	f.Add(string(workloadOf("model_parallel_NPU_group: 2", twoLayers...).Data), twoServers, simaiConfig)
	f.Add(string(workloadOf("model_parallel_NPU_group: 1 pp: 2 ga: 2 all_gpus: 4 pp_comm: 5.5", "a -1 1 NONE 0 2 NONE 0 3 NONE 0 0", "a -1 1 NONE 0 2 NONE 0 3 ALLREDUCE 5 6").Data), twoServers, "CC_MODE 8")
	f.Add("MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE_EP 8192 1", fmt.Sprintf("3 2 0 1 2 X 2 0 2 %dbps 1ns 0 1 2 1Gbps 1us 0", unit.GigabitPerSec), "")
	f.Fuzz(func(t *testing.T, workload, topo, config string) {
		if len(workload) > 1<<10 || len(topo) > 1<<10 || largeRack.MatchString(workload) || len(strings.Fields(topo + " -")[0]) > 2 {
			return // large racks are slow, not wrong
		}
		files := []*File{{"t", []byte(topo)}, {"c", []byte(config)}}
		if topo == "" {
			files[0] = nil
		}
		out, err := SimAI(File{"w", []byte(workload)}, files[0], files[1], DefaultLayout)
		if err == nil {
			if _, err := scenariofile.Parse("s", out.Scenario); err != nil {
				t.Errorf("%v\n%s", err, out.Scenario)
			}
		}
	})
}
