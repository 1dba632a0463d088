package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/topology"
)

// manyPaths draws a rack of two leaves and several spines under any scheme, choice of paths by
// switches and senders, and time of detection. A link between the leaves and spines fails and comes up again.
func manyPaths(t *rapid.T) *topology.Scenario {
	pick := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	number := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
	hosts, spines := number("hosts", 1, 4), number("spines", 2, 4)
	var b strings.Builder
	fmt.Fprintf(&b, "name: random\nseed: %d\nduration: 1s\nbin: 1s\nscheme: %s\n", number("seed", 0, 9), pick("scheme", cc.Names()...))
	fmt.Fprintf(&b, "defaults:\n  switch: {xoff: %s, routing: %s, class1: {routing: %s}, flowlet_gap: %s, flowlet_entries: %s, adaptive_step: %s, detection: %s}\n",
		pick("xoff", "0", "20KB"), pick("routing", balance.Names...), pick("other routing", balance.Names...), pick("gap", "0", "1us", "100us"),
		pick("entries", "1", "1000"), pick("step", "1B", "5KB"), pick("detection", "0", "3us", "50us"))
	fmt.Fprintf(&b, "  link: {rate: 40Gbps, delay: 500ns}\n  nic: {timeout: 200us, recovery: %s, entropy: %s, entropies: %s}\n",
		pick("recovery", "scheme", "selective", "spraying"), rapid.SampledFrom(append(cc.Entropies, cc.EntropyScheme)).Draw(t, "entropy"), pick("entropies", "2", "64"))
	fmt.Fprintf(&b, "nics: {h0..h%d: , r0..r%d: }\nswitches: {leaf0..leaf1: , spine0..spine%d: }\n", hosts-1, hosts-1, spines-1)
	fmt.Fprintf(&b, "links:\n  - endpoints: [h0..h%d, leaf0]\n  - endpoints: [r0..r%d, leaf1]\n  - {endpoints: [leaf0..leaf1, spine0..spine%d], rate: %s}\n",
		hosts-1, hosts-1, spines-1, pick("trunk", "40Gbps", "25Gbps"))
	b.WriteString("flows:\n")
	for i := range number("flows", 1, 5) {
		fmt.Fprintf(&b, "  - {name: F%d, from: h%d, to: r%d, size: %dB, start: %dns, class: %s}\n", i, number("from", 0, hosts-1), number("to", 0, hosts-1),
			number("size", 1, 30_000), number("start", 0, 5000), pick("class", "3", "1"))
	}
	if rapid.Bool().Draw(t, "failure") {
		link := fmt.Sprintf("%s--spine%d", pick("leaf", "leaf0", "leaf1"), number("spine", 0, spines-1))
		fmt.Fprintf(&b, "changes:\n  - {at: 3us, link_down: %s}\n  - {at: %dus, link_up: %s}\n", link, number("up", 4, 60), link)
	}
	s, err := scenariofile.Parse("random.yaml", []byte(b.String()))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, b.String())
	}
	return s
}

// PATH-12, EV-4: on several paths, with packets out of order and a link that fails, each frame is
// at every instant on a link, in a switch, received, or dropped and noted; and every message
// finishes. The lab records the same notes as the slow one.
func TestFramesAreConservedOnSeveralPaths(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := manyPaths(rt)
		c := newCensus(t, s)
		end := c.finish(rt, c)
		if err := c.counted(); err != nil {
			rt.Fatalf("under %s: %v", s.Scheme, err)
		}
		c.sameNotes(rt, end)
	})
}
