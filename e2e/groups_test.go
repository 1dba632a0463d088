package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// randomRack returns a small rack: leaves with hosts, spines, random delays, flows and a
// scheme, all drawn from seed.
func randomRack(seed uint64) (text string, nodes int) {
	r := rand.New(rand.NewPCG(seed, 1))
	leaves, spines, hosts := 1+r.IntN(3), 1+r.IntN(2), 2+r.IntN(3)
	var b strings.Builder
	fmt.Fprintf(&b, "name: random\nseed: %d\nduration: 300us\nscheme: %s\n", seed, []string{"pfc", "pcn", "dcqcn", "timely"}[r.IntN(4)])
	fmt.Fprintf(&b, "defaults: {link: {rate: %dGbps, delay: %dns}, nic: {timeout: 300us}, switch: {xoff: 60KB, headroom: 100KB}}\n", 10+r.IntN(90), 300+r.IntN(2000))
	fmt.Fprintf(&b, "nics: {h0..h%d: }\nswitches: {l0..l%d: , s0..s%d: }\nlinks:\n", leaves*hosts-1, leaves-1, spines-1)
	for l := range leaves {
		fmt.Fprintf(&b, "  - endpoints: [h%d..h%d, l%d]\n", l*hosts, (l+1)*hosts-1, l)
		for s := range spines {
			fmt.Fprintf(&b, "  - {endpoints: [l%d, s%d], delay: %dns}\n", l, s, 500+r.IntN(5000))
		}
	}
	b.WriteString("flows:\n")
	for f := range 3 + r.IntN(5) {
		from := r.IntN(leaves * hosts)
		to := (from + 1 + r.IntN(leaves*hosts-1)) % (leaves * hosts)
		fmt.Fprintf(&b, "  - {name: F%d, from: h%d, to: h%d, size: %dKB, start: %dus}\n", f, from, to, 50+r.IntN(2000), r.IntN(50))
	}
	return b.String(), leaves*hosts + leaves + spines
}

// Random racks have one digest in memory, with a process per node, and in any number of
// processes. So have their figures, which results.json lists with the processes.
func TestGroupsOfNodesMatchMemory(t *testing.T) {
	t.Parallel()
	for seed := range slowtest.Count[uint64](t, 1, 4, "racks") {
		text, nodes := randomRack(seed)
		file := filepath.Join(t.TempDir(), "random.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		scheme := strings.Fields(text[strings.Index(text, "scheme:"):])[1]
		memory := start(t, file, "--bus", "memory", "--scheme", scheme).results(t)
		for _, processes := range []int{1, 2, 3, nodes - 1, nodes} {
			nats := start(t, file, "--scheme", scheme, "--processes", fmt.Sprint(processes)).results(t)
			if diff := cmp.Diff(digests(memory), digests(nats)); diff != "" {
				t.Errorf("%d processes: digests differ (-memory +nats):\n%s%s", processes, diff, text)
			}
			m, n := memory.Runs[0], nats.Runs[0]
			if n.Processes != processes || m.Processes != 0 {
				t.Errorf("%d processes in results.json, want %d; %d in memory", n.Processes, processes, m.Processes)
			}
			if diff := cmp.Diff(m.Flows, n.Flows) + cmp.Diff(m.Pauses, n.Pauses); diff != "" {
				t.Errorf("%d processes: the figures differ (-memory +nats):\n%s", processes, diff)
			}
		}
	}
}
