package imports

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// spectrumX returns a topology like those of SimAI's generator: servers of 8 GPUs, each with NVLink and a NIC on a rail of
// its own, and spine switches.
func spectrumX(servers int) *File {
	const perServer, spines = 8, 4
	gpus := servers * perServer
	rail, spine := gpus+servers, gpus+servers+perServer
	var links, switches []string
	for g := range gpus {
		links = append(links, fmt.Sprintf("%d %d 2880Gbps 0.000025ms 0", g, gpus+g/perServer), fmt.Sprintf("%d %d 400Gbps 0.0005ms 0", g, rail+g%perServer))
	}
	for r := range perServer {
		for s := range spines {
			links = append(links, fmt.Sprintf("%d %d 400Gbps 0.0005ms 0", rail+r, spine+s))
		}
	}
	for sw := gpus; sw < spine+spines; sw++ {
		switches = append(switches, fmt.Sprint(sw))
	}
	return &File{"sx.topo", fmt.Appendf(nil, "%d %d %d %d %d H100\n%s\n%s\n", spine+spines, perServer, servers, perServer+spines, len(links),
		strings.Join(switches, " "), strings.Join(links, "\n"))}
}

// busRate returns the bus bandwidth of the first collective of a scenario, in Gbit/s.
func busRate(t *testing.T, text []byte) float64 {
	t.Helper()
	s, err := scenariofile.Parse("s", text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.Run(s.Duration)
	out, err := l.Outcome()
	if err != nil || !out.Programs.Finished() {
		t.Fatalf("%d of %d steps are done, %v", out.Programs.Done, out.Programs.Steps, err)
	}
	return float64(out.Collectives[0].BusBW) / float64(unit.GigabitPerSec)
}

// IMP-16: An all-reduce of two servers of eight GPUs sends by all eight NICs of each: its bus bandwidth is several times
// the 400 Gbit/s of one, up to the 2,880 Gbit/s of NVLink. The collective of 15-w.txt has one server.
func TestSimAIRails(t *testing.T) {
	data, err := os.ReadFile("testdata/ar16.txt")
	if err != nil {
		t.Fatal(err)
	}
	out, err := SimAI(File{"ar16.txt", data}, spectrumX(2), &File{"SimAI.conf", []byte("PACKET_PAYLOAD_SIZE 9000\nCC_MODE 0\n")}, DefaultLayout)
	if err != nil {
		t.Fatal(err)
	}
	if got := busRate(t, out.Scenario); got < 2600 || got > 2880 {
		t.Errorf("%.0f Gbit/s, want 2,600 to 2,880\n%s", got, out.Scenario)
	}
	if want := "1 collective has GPUs of several servers: a ring per rail, so that all NICs of a server send"; !strings.Contains(strings.Join(out.Notes, "\n"), want) {
		t.Errorf("notes %q, want %s", out.Notes, want)
	}
	one := strings.Replace(string(out.Scenario), ", rails: 8", "", 1)
	if got := busRate(t, []byte(one)); got > 400 {
		t.Errorf("in the order of ranks %.0f Gbit/s, want at most those of a NIC", got)
	}
}

// COLL-20: On the template rail, imported or not, a ring collective uses all rails without a key.
func TestRailTemplateRings(t *testing.T) {
	data, err := os.ReadFile("testdata/rail.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := busRate(t, append(data, "scheme: nscc\n"...)); got < 300 || got > 400 { // three NICs carry at most 300
		t.Errorf("%.0f Gbit/s, want 300 to 400, of four NICs at 100", got)
	}
	template, err := scenariofile.ParseTemplate("rail:servers=2,nics=4")
	if err != nil {
		t.Fatal(err)
	}
	out, err := SimAI(workloadOf("model_parallel_NPU_group: 8 all_gpus: 8", "a -1 5 ALLREDUCE 8000000 1 NONE 0 1 NONE 0 1"), nil, nil, ByTemplate(template))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := scenariofile.Parse("s", out.Scenario); err != nil || s.Collectives[0].Channels != 4 {
		t.Errorf("%v, want 4 channels\n%s", err, out.Scenario)
	}
}

// IMP-14: A collective whose messages would be too long has chunks, and one that no scenario can have is a fault of the file.
func TestSimAILargeCollectives(t *testing.T) {
	data, err := os.ReadFile("testdata/big-collective.txt")
	if err != nil {
		t.Fatal(err)
	}
	out, err := SimAI(File{"big-collective.txt", data}, nil, nil, testLayout)
	if err != nil || !strings.HasSuffix(string(out.Scenario), "size: 5000000000B, chunks: 2, after: [f0]}\n") {
		t.Errorf("%v, want 2 chunks", err)
	}
	_, err = SimAI(workloadOf("model_parallel_NPU_group: 2048 all_gpus: 2048", "a -1 5 ALLREDUCE 80000 1 NONE 0 1 NONE 0 1"), nil, nil, testLayout)
	const want = "w.txt:2: all-reduce of 80KB among 2048 ranks: 8384512 messages, want at most 4194304: fewer ranks, channels or chunks"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// IMP-2: The same holds for traces.
func TestChakraLargeCollectives(t *testing.T) {
	out, err := chakraOf(nodes{collNode(1, 0, 9e9, "")}, nodes{collNode(1, 0, 9e9, "")})
	if err != nil || !strings.HasSuffix(string(out.Scenario), "size: 9000000000B, chunks: 3}\n") {
		t.Errorf("%v, want 3 chunks", err)
	}
	_, err = chakraOf(nodes{collNode(1, 2, 1<<40, "")}, nodes{collNode(1, 2, 1<<40, "")})
	const want = "t.0.et and others: all-gather of 2.199023255552TB among 2 ranks: 2.199023255552TB, want"
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "scenario:") {
		t.Errorf("%v, want %s", err, want)
	}
}

// IMP-12: A fault of a scenario that an import has made names the key, and no line of a text that nobody has.
func TestInvalidImportNamesKeys(t *testing.T) {
	_, err := finished([]byte("name: r\nduration: 1ms\nnics: {h0: }\nflows:\n  - {name: F, from: h0, to: h1, size: 1B}\n"), nil)
	const want = "\nflows[0].to: unknown node h1"
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ":5") {
		t.Errorf("%v, want %s", err, want)
	}
}
