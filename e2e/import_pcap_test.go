package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A demanded message is one of the messages of a scenario: "h0>h1 put".
type demanded struct {
	what string
	at   unit.Time
	size unit.Bytes
}

// demandIn returns the messages of a scenario in the order of hosts, verb and time.
func demandIn(t *testing.T, file string) (list []demanded, payload unit.Bytes) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenariofile.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Commands {
		for _, p := range c.Posts {
			what := fmt.Sprintf("%s>%s %s", s.Nodes[c.From[0]].Name, s.Nodes[c.To[0]].Name, c.Verb)
			list = append(list, demanded{what, c.At + p.After, p.Size})
		}
	}
	slices.SortStableFunc(list, func(a, b demanded) int { return strings.Compare(a.what, b.what) })
	return list, s.Nodes[0].NIC.Payload
}

// randomDemand writes a scenario of three hosts with 20 commands per verb and pair of hosts, 20 us apart.
func randomDemand(t *testing.T, file string, loss float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 1))
	lines := []string{
		"name: demand", "duration: 20ms", "seed: 5", "defaults: {nic: {payload: 2048B}, link: {mtu: 2300B}}", "nics: {h0..h2: }", "switches: {s0: }",
		fmt.Sprintf("links: [{endpoints: [h0..h2, s0], rate: 100Gbps, delay: 1us, loss: %g}]", loss), "commands:",
	}
	at := 0
	for from, to := range []int{1, 2, 0} {
		for _, verb := range []string{"put", "send", "get", "fetch-add"} {
			posts, size := []string{}, func() int { return 1 + random.IntN(100000) }
			switch verb {
			case "get":
				size = func() int { return 1 + random.IntN(2048) } // a READ for each response packet
			case "fetch-add":
				size = func() int { return 8 }
			}
			for i := range 20 {
				posts = append(posts, fmt.Sprintf("[%dus, %dB]", 80*i, size()))
			}
			lines = append(lines, fmt.Sprintf("  - {name: C%d, verb: %s, from: h%d, to: h%d, at: %dus, posts: [%s]}", len(lines), verb, from, to, at, strings.Join(posts, ", ")))
			at += 20
		}
		at += 1 - 80
	}
	writeLines(t, file, lines)
}

// reimported returns the notes of the import of a capture of a scenario at its hosts.
func reimported(t *testing.T, scenario, ports, into string) string {
	t.Helper()
	printed(t, "capture", "--at", ports, "--headers", "-o", into+".pcapng", scenario, "--scheme", "pfc")
	out, err := exec.Command(program, "import", "pcap", into+".pcapng", "-o", into).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// IMP-11: The import of a capture of a run has the verbs, sizes and times of its commands, also where packets are lost.
func TestImportPCAPRoundTrip(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name, ports string
		loss        float64
		late        unit.Time // at most
		notes       string
	}{
		{"everywhere", "h0..h2", 0, 100 * unit.Nanosecond, "packets ignored: retransmitted"},
		{"one host", "h0", 0, 3 * unit.Microsecond, "h0 is 10.0.0."},
		{"loss", "h0..h2", 0.01, 20 * unit.Millisecond, "packets ignored: retransmitted"},
	} {
		randomDemand(t, c.name, c.loss)
		want, payload := demandIn(t, c.name)
		notes := reimported(t, c.name, c.ports, "again-"+c.name)
		if !strings.Contains(notes, c.notes) {
			t.Errorf("%s: %s", c.name, notes)
		}
		got, again := demandIn(t, "again-"+c.name)
		if c.ports == "h0" {
			want = slices.DeleteFunc(want, func(d demanded) bool { return !strings.Contains(d.what, "h0") })
		}
		if len(got) != len(want) || again != payload {
			t.Fatalf("%s: %d messages, want %d; payload %s, want %s", c.name, len(got), len(want), again, payload)
		}
		first := slices.MinFunc(want, func(a, b demanded) int { return int(a.at - b.at) }).at
		for i, w := range want {
			late := got[i].at - (w.at - first)
			if g := got[i]; g.what != w.what || g.size != w.size || late < -unit.Nanosecond || late > c.late {
				t.Errorf("%s: %v, want %v", c.name, g, w)
			}
		}
	}
}

// IMP-11: The committed capture at h0 in a run that lost one packet of ten has the commands of its run: puts of 3 KB and 1 KB, sends of
// 4 KB and 64 bytes, two gets of 900 bytes, two atomics and three datagrams of 100 bytes.
func TestImportPCAPCommitted(t *testing.T) {
	out, err := exec.Command(program, "import", "pcap", "../imports/testdata/requests.pcapng", "-o", "-").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{
		"requests.pcapng: h0 is 10.0.0.1, h1 is 10.0.0.2\n",
		"requests.pcapng: 19 of 46 frames carry no request: 9 ACK, 6 NAK, 4 responses\n",
		"requests.pcapng: 11 packets ignored: retransmitted, or captured at several ports\n",
		"  - {name: Q0-put, verb: put, from: h0, to: h1, at: 0ps, posts: [[0ps, 3000B], [10us, 1000B]]}\n",
		"  - {name: Q0-get, verb: get, from: h0, to: h1, at: 80us, posts: [[0ps, 900B], [10us, 900B]]}\n",
		"  - {name: Q1-send, verb: send, from: h1, to: h0, at: 7.169us, posts: [[0ps, 4000B], [69.035us, 64B]]}\n",
		"  - {name: Q1-fetch-add, verb: fetch-add, from: h1, to: h0, at: 72.014us, posts: [[0ps, 8B], [10us, 8B]]}\n",
		"  - {name: Q2, verb: send, from: h0, to: h1, transport: ud, at: 83us, posts: [[0ps, 100B], [1us, 100B], [2us, 100B]]}\n",
	} {
		if !strings.Contains(string(out), line) {
			t.Errorf("%s\nis not in\n%s", line, out)
		}
	}
}
