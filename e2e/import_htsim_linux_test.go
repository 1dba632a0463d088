package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// connection is a line of a connection matrix, and the connection that starts it.
type connection struct {
	from, to, size int
	after          int // id, 0 for none
}

// reduced returns the connections of ring all-reduces of groups of hosts, and the lines of the matrix: each host
// passes on a part when it has received the part before it.
func reduced(hosts, group, size int) (list []connection, lines []string) {
	for start := range hosts {
		first := start / group * group
		for step := range 2 * (group - 1) {
			from := first + (start+step)%group
			c := connection{from: from, to: first + (start+step+1)%group, size: size}
			id, how, done := len(list)+1, "start 0", ""
			if step > 0 {
				c.after = id - 1
				how = fmt.Sprint("trigger ", id-1)
			}
			if step < 2*(group-1)-1 {
				done = fmt.Sprint(" recv_done_trigger ", id)
			}
			list = append(list, c)
			lines = append(lines, fmt.Sprintf("%d->%d id %d %s size %d%s", c.from, c.to, id, how, size, done))
		}
	}
	for id, c := range list {
		if c.after > 0 {
			lines = append(lines, fmt.Sprintf("trigger id %d oneshot", id))
		}
	}
	return list, lines
}

// IMP-7: All connections of ring all-reduces on a fat tree of 64 hosts are in the exported log, with the numbers of
// the matrix, and each begins after the one that triggers it.
func TestImportHTSimLinesUp(t *testing.T) {
	t.Chdir(t.TempDir())
	const hosts = 64
	list, lines := reduced(hosts, 8, 50000)
	triggers := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "trigger") {
			triggers++
		}
	}
	writeLines(t, "ring.cm", append([]string{fmt.Sprint("Nodes ", hosts), fmt.Sprint("Connections ", len(list)), fmt.Sprint("Triggers ", triggers)}, lines...))
	writeLines(t, "tree.topo", []string{
		fmt.Sprint("Nodes ", hosts), "Tiers 3", "Podsize 16",
		"Tier 0", "Downlink_speed_Gbps 100", "Downlink_Latency_ns 500", "Radix_Down 4", "Radix_Up 4",
		"Tier 1", "Downlink_speed_Gbps 100", "Downlink_Latency_ns 500", "Radix_Down 4", "Radix_Up 4",
		"Tier 2", "Downlink_speed_Gbps 100", "Downlink_Latency_ns 500", "Radix_Down 4",
	})
	printed(t, "import", "htsim", "--connections", "ring.cm", "--topology", "tree.topo", "-o", "ring.yaml")
	printed(t, "run", "ring.yaml", "--bus", "memory", "--scheme", "nscc", "--output", "run")
	printed(t, "export", "run", "--format", "htsim", "-o", "out")
	text, err := os.ReadFile("out/nscc/htsim.log")
	if err != nil {
		t.Fatal(err)
	}
	done := map[int]float64{}
	for line := range strings.Lines(string(text)) {
		var from, to, id, source, packets, bytes int
		var at float64
		if _, err := fmt.Sscanf(line, "Flow Uec_%d_%d flowId %d uecSrc %d finished at %f total messages 1 total packets %d RTS 0 total bytes %d",
			&from, &to, &id, &source, &at, &packets, &bytes); err != nil || id < 1 || id > len(list) || done[id] > 0 {
			t.Fatalf("%q: %v", line, err)
		}
		if c := list[id-1]; c.from != from || c.to != to || c.size != bytes {
			t.Errorf("%q, want %+v", line, c)
		}
		done[id] = at
	}
	for i, c := range list {
		// 50,000 bytes take 4 us at 100 Gbit/s, and 1 us to the other host of the same ToR and back. The
		// connection that it waits for was acknowledged at most 2 us after it had arrived, over another ToR.
		if at := done[i+1]; at == 0 || c.after > 0 && at < done[c.after]+3 {
			t.Errorf("connection %d finished at %f us, that before it at %f", i+1, at, done[c.after])
		}
	}
}

// IMP-18: As imported, matrices take the times of htsim's UEC driver: one flow its closed form, incasts little more than the
// busiest link needs, and permutations at most what the driver's own validation allows.
func TestImportHTSimTakesItsTime(t *testing.T) {
	t.Chdir(t.TempDir())
	permutation := func(hosts, size int) (flows []connection) {
		for i := range hosts {
			flows = append(flows, connection{from: i, to: (7*i + 3) % hosts, size: size}) // of an even number, no host to itself
		}
		return flows
	}
	incast := func(senders, size int) (flows []connection) {
		for i := range senders {
			flows = append(flows, connection{from: i + 1, to: 0, size: size})
		}
		return flows
	}
	for _, c := range []struct {
		name        string
		hosts       int
		flows       []connection
		least, most float64 // us
	}{
		{"one", 16, []connection{{from: 0, to: 15, size: 2000000}}, 0.995 * 176.5, 1.005 * 176.5},
		{"permutation", 16, permutation(16, 2000000), 176, 210}, // validate_uec_sender.txt
		{"large", 128, permutation(128, 2000000), 176, 220},
		{"incast8", 16, incast(8, 1000000), 664, 1.05 * 664},
		{"incast32", 54, incast(32, 1000000), 2614, 1.05 * 2614},
		{"incast100", 128, incast(100, 100000), 826, 1.12 * 826.8},
		{"mixed", 16, append(permutation(16, 1000000), incast(6, 200000)...), 190, 260},
	} {
		lines := []string{fmt.Sprint("Nodes ", c.hosts), fmt.Sprint("Connections ", len(c.flows))}
		for i, f := range c.flows {
			lines = append(lines, fmt.Sprintf("%d->%d id %d start 0 size %d", f.from, f.to, i+1, f.size))
		}
		writeLines(t, c.name+".cm", lines)
		printed(t, "import", "htsim", "--connections", c.name+".cm", "-o", c.name+".yaml")
		printed(t, "run", c.name+".yaml", "--bus", "memory", "--output", c.name)
		printed(t, "export", c.name, "--format", "htsim", "-o", "log-"+c.name)
		text, err := os.ReadFile("log-" + c.name + "/nscc/htsim.log")
		if err != nil {
			t.Fatal(err)
		}
		finished, last := 0, 0.0
		for line := range strings.Lines(string(text)) {
			_, rest, _ := strings.Cut(line, " finished at ")
			var at float64
			if _, err := fmt.Sscanf(rest, "%f", &at); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			finished, last = finished+1, max(last, at)
		}
		if finished != len(c.flows) || last < c.least || last > c.most {
			t.Errorf("%s: %d of %d flows, the last one after %.2f us, want %.2f to %.2f", c.name, finished, len(c.flows), last, c.least, c.most)
		}
	}
}
