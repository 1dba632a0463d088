package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/measure"
)

const importGuide = "../docs/guide/import.md"

// importFiles writes the files that the guide shows into the current folder.
func importFiles(t *testing.T, guide string) {
	t.Helper()
	for name, first := range map[string]string{"topology.txt": "5 2 4", "flow.txt": "4", "config.txt": "CC_MODE", "workload.txt": "HYBRID", "servers.topo": "9 2 2"} {
		writeLines(t, name, block(t, guide, first, 1))
	}
	for n, name := range []string{"ring.cm", "leaf-spine.topo"} {
		writeLines(t, name, block(t, guide, "Nodes 4", n+1))
	}
	writeLines(t, "ring.goal", block(t, guide, "num_ranks", 1))
	rack, _, _ := strings.Cut(strings.Join(block(t, filepath.Join(filepath.Dir(guide), "programs.md"), "name: ring", 1), "\n"), "\nprograms:")
	writeLines(t, "star.yaml", []string{rack})
	writeLines(t, "requests.yaml", block(t, guide, "name: requests", 1))
	stages := strings.Join(block(t, guide, "name: stages", 1), "\n")
	writeLines(t, "by-hand.yaml", []string{stages})
	rack, _, _ = strings.Cut(stages, "\nprograms:")
	writeLines(t, "stages.yaml", []string{rack})
	if err := os.CopyFS(".", os.DirFS(filepath.Join(filepath.Dir(guide), "../../imports/testdata"))); err != nil {
		t.Fatal(err)
	}
}

// The commands of the guide work on its files, and print what it shows. The trace in GOAL has the
// digests of the same program in programs.md.
func TestImportGuideCommands(t *testing.T) {
	guide, err := filepath.Abs(importGuide)
	if err != nil {
		t.Fatal(err)
	}
	lines := typed(t, guide)
	t.Chdir(t.TempDir())
	importFiles(t, guide)
	messages, tables := map[string][]string{}, map[string][]string{} // by the format and by the scenario
	for _, line := range lines {
		words := unquoted(line)
		c := exec.Command(program, words[1:]...)
		var text strings.Builder
		c.Stderr = &text
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, text.String())
		}
		switch words[1] {
		case "import":
			messages[words[2]] = append(messages[words[2]], strings.Split(text.String(), "\n")...)
		case "run":
			tables[words[2]] = strings.Split(string(out), "\n")
		}
	}
	if len(lines) < 3 {
		t.Errorf("the guide has %d commands", len(lines))
	}
	shows(t, guide, block(t, guide, "time 0", 1), messages["hpcc"])
	shows(t, guide, block(t, guide, "ring.cm: ", 1), messages["htsim"])
	shows(t, guide, block(t, guide, "capture.pcapng: h0", 1), messages["pcap"])
	demand, err := os.ReadFile("demand.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shows(t, guide, block(t, guide, "commands:", 2), following(strings.Split(string(demand), "\n"), "commands:"))
	shows(t, guide, block(t, guide, "htsim-import, seed 1", 1), tables["htsim.yaml"])
	log, err := os.ReadFile("log/nscc/htsim.log")
	if err != nil {
		t.Fatal(err)
	}
	shows(t, guide, block(t, guide, "Flow Uec", 1), strings.Split(string(log), "\n"))
	shows(t, guide, block(t, filepath.Join(filepath.Dir(guide), "export.md"), "Flow Uec", 1), strings.Split(string(log), "\n")[1:])
	shows(t, guide, block(t, guide, "left out, ", 1), messages["chakra"])
	shows(t, guide, block(t, guide, "stages, seed 1", 1), tables["iteration.yaml"])
	shows(t, guide, block(t, guide, "servers.topo: ", 1), messages["simai"])
	workload, err := os.ReadFile("simai.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for line := range strings.Lines(string(workload)) {
		steps = append(steps, strings.TrimSpace(line))
	}
	shows(t, guide, block(t, guide, "f0: calc", 1), following(steps, "f0: calc"))
	shows(t, guide, block(t, guide, "- {name: f0-0", 1), following(steps, "- {name: f0-0"))
	programs := filepath.Join(filepath.Dir(guide), "programs.md")
	shows(t, programs, block(t, programs, "ring, seed 1", 1), tables["ring.yaml"])
}

// analysedFCT reads a line of fct.txt by the rules of the simulator's fct_analysis.py: eight columns, sip dip sport dport
// size start fct standalone_fct, of which the last ones are in ns. A flow counts if it ends before 3 s. Its slowdown, fct by
// standalone_fct, is about 1 or more.
func analysedFCT(t *testing.T, line string) (port int64, ok bool) {
	t.Helper()
	var from, to uint32
	var source, size, start, fct, alone int64
	if n, err := fmt.Sscanf(line, "%x %x %d %d %d %d %d %d\n", &from, &to, &source, &port, &size, &start, &fct, &alone); err != nil || n != 8 || alone <= 0 {
		t.Fatalf("%q: %v", line, err)
	}
	if float64(fct) < 0.9*float64(alone) {
		t.Errorf("%q: faster than alone", line)
	}
	return port, start+fct < 3_000_000_000
}

// IMP-5: Exports of an imported run of 128 hosts and 10,000 flows have the nodes, ports, sizes and starts of its
// files.
func TestImportHPCCLinesUp(t *testing.T) {
	t.Chdir(t.TempDir())
	const hosts, leaves, spines = 128, 8, 4
	flows := slowtest.Count(t, 2000, 10000, "flows")
	rack := []string{fmt.Sprintf("%d %d %d", hosts+leaves+spines, leaves+spines, hosts+leaves*spines)}
	for i := range leaves + spines {
		rack = append(rack, fmt.Sprint(hosts+i))
	}
	for h := range hosts {
		rack = append(rack, fmt.Sprintf("%d %d 100Gbps 0.001ms 0", h, hosts+h*leaves/hosts))
	}
	for i := range leaves * spines {
		rack = append(rack, fmt.Sprintf("%d %d 400Gbps 0.001ms 0", hosts+i/spines, hosts+leaves+i%spines))
	}
	writeLines(t, "topology.txt", rack)
	random, list, want := rand.New(rand.NewPCG(1, 1)), []string{fmt.Sprint(flows)}, []string{}
	for i := range flows {
		from := random.IntN(hosts)
		to, size := (from+1+random.IntN(hosts-1))%hosts, 1000+random.IntN(20000)
		port := 100 + 100*(i%10/9) // every tenth flow is that of an incast
		list = append(list, fmt.Sprintf("%d %d 3 %d %d %.9f", from, to, port, size, 2+float64(i)*200e-9))
		want = append(want, fmt.Sprintf("0b00%02x01 0b00%02x01 %d %d %d", from, to, port, size, i*200))
	}
	writeLines(t, "flow.txt", list)
	writeLines(t, "config.txt", []string{"CC_MODE 3"})
	printed(t, "import", "hpcc", "--topology", "topology.txt", "--flows", "flow.txt", "--config", "config.txt", "-o", "rack.yaml")
	printed(t, "run", "rack.yaml", "--bus", "memory", "--output", "run")
	printed(t, "export", "run", "--format", "hpcc", "-o", "out")
	text, err := os.ReadFile("out/hpcc/fct.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	analysed := map[int64]int{} // flows of each port that the simulator's analysis has
	for line := range strings.Lines(string(text)) {
		if port, ok := analysedFCT(t, line); ok {
			analysed[port]++
		}
		w := strings.Fields(line)
		got = append(got, strings.Join(slices.Delete(w[:6], 2, 3), " "))
	}
	if analysed[100] != flows-flows/10 || analysed[200] != flows/10 {
		t.Errorf("fct_analysis.py has %v flows by port", analysed)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d lines, want %d; the first are\n%s\nwant\n%s", len(got), len(want), strings.Join(got[:min(3, len(got))], "\n"), strings.Join(want[:3], "\n"))
	}
}

// IMP-3: An imported set of traces runs with the digests of the scenario that says the same.
func TestImportChakraByHand(t *testing.T) {
	guide, err := filepath.Abs(importGuide)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	importFiles(t, guide)
	printed(t, "import", "chakra", "--traces", "training.*.et", "--topology", "stages.yaml", "-o", "training.yaml")
	run := func(file string) *measure.Results {
		return start(t, file, "--bus", "memory", "--scheme", "pcn,nscc").results(t)
	}
	imported := run("training.yaml")
	for _, r := range imported.Runs {
		if !r.Programs.Finished() || len(r.Collectives) != 2 {
			t.Errorf("%s: %+v, %d collectives", r.Scheme, r.Programs, len(r.Collectives))
		}
	}
	if diff := cmp.Diff(digests(run("by-hand.yaml")), digests(imported)); diff != "" {
		t.Errorf("digests differ (-by hand +imported):\n%s", diff)
	}
	text, err := os.ReadFile("by-hand.yaml")
	if err != nil {
		t.Fatal(err)
	}
	writeLines(t, "other.yaml", []string{strings.Replace(string(text), "200us", "201us", 1)})
	if diff := cmp.Diff(digests(run("other.yaml")), digests(imported)); diff == "" {
		t.Error("another duration has the same digests")
	}
}
