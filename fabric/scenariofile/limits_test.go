package scenariofile

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
)

// nics returns a rack of n NICs and m switches, each linked to the first switch, and a flow.
func nics(n, m int, scheme string) string {
	return fmt.Sprintf("name: x\nduration: 1ms\nscheme: %s\ndefaults: {link: {rate: 40Gbps, delay: 1us}, switch: {buffer: 500GB}}\n"+
		"nics: {h0..h%d: }\nswitches: {s0..s%d: }\nlinks: [{endpoints: [h0..h%d, s0]}, {endpoints: [s0, s1..s%d]}]\n"+
		"flows: [{name: F, from: h0, to: h1, size: 1KB}]\n", scheme, n-1, m-1, n-1, m-1)
}

// each returns a section with n entries.
func each(section string, n int, entry func(i int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", section)
	for i := range n {
		fmt.Fprintf(&b, "  - %s\n", entry(i))
	}
	return b.String()
}

// atLimits are scenarios at a limit of the schema, of nodes, commands, collectives or changes, divided by part.
func atLimits(part int) map[string]string {
	nodes, entries := 60000/part, 65536/part
	rack, small := nics(nodes, nodes, "pfc"), nics(1000, 2, "pfc")
	changes := func(format string, second func(i int) int) string {
		return each("changes", entries, func(i int) string { return fmt.Sprintf(format, i%1000, second(i)) })
	}
	ofSwitch, number := func(i int) int { return 1 + i%(nodes-1) }, func(i int) int { return i }
	return map[string]string{
		"nodes of hpcc":        nics(nodes, nodes, "hpcc"),
		"nodes of timely-rttx": nics(nodes, nodes, "timely-rttx"),
		"workload":             rack + "workloads: [{name: w, sizes: [[1MB, 0], [1GB, 100]], load: 0.001}]\n",
		"commands": small + "commands:\n  - {name: c, verb: put, from: h0, to: h1, size: 1KB}\n" + each("", 500000/part-1, func(i int) string {
			return fmt.Sprintf("{name: c%d, verb: put, from: h0, to: h1, size: 1KB, after: c%s}", i, strings.TrimPrefix(fmt.Sprint(i-1), "-1"))
		})[len(":\n"):],
		"collectives":     small + each("collectives", entries, func(i int) string { return fmt.Sprintf("{name: c%d, kind: broadcast, ranks: [h0, h1], size: 1KB}", i) }),
		"link_down":       rack + changes("{at: %dus, link_down: s0--s%d}", ofSwitch),
		"set of switches": rack + changes("{at: %dus, set: s%[2]d.xoff=9KB}", ofSwitch),
		"set of links":    rack + changes("{at: %dus, set: s0->s%d.loss=0.1}", ofSwitch),
		"post":            small + changes("{at: %dus, post: {name: p%d, from: h0, to: h1, size: 1KB}}", number),
		"stop_flow": small + "bursts: [{name: b, from: h1..h900, to: h0, size: 1KB, at: 0us, flows_per_sender: 1000}]\n" +
			changes("{at: %dus, stop_flow: b/h1/%d}", func(i int) int { return i % 1000 }),
	}
}

// BenchmarkLimits parses a scenario at each limit: at most some seconds each.
func BenchmarkLimits(b *testing.B) {
	for name, text := range atLimits(1) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				parsed(b, text)
			}
		})
	}
}

// The memory that parsing allocates grows with the scenario, not with its square.
func TestWorkGrowsWithTheScenario(t *testing.T) {
	half, whole := atLimits(256), atLimits(128)
	for name := range whole {
		if less, more := allocated(t, half[name]), allocated(t, whole[name]); more > 3*less {
			t.Errorf("%s: %d bytes, and %d for the scenario of twice the size", name, less, more)
		}
	}
}

// allocated returns the bytes that parsing allocates.
func allocated(t *testing.T, text string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parsed(t, text)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A fault of a range is reported once, not once per name.
func TestFaultsOfARange(t *testing.T) {
	text := []byte(nics(5000, 2, "pfc"))
	wrong := []byte(strings.Replace(string(text), "nics: {h0..h4999: }", "nics: {h0..h4999: {nokey: 1, payload: 1, rtt: echo}}", 1))
	for _, c := range []struct {
		text []byte
		set  []topology.Setting
		want int
	}{
		{text, []topology.Setting{{Key: "h0..h4999.nokey", Value: "1"}}, 1},
		{text, []topology.Setting{{Key: "q0..q4999.payload", Value: "1KB"}}, 1},
		{wrong, nil, 2},
	} {
		_, err := ParseWith("x", c.text, c.set)
		var faults *Faults
		if !errors.As(err, &faults) || len(faults.List) != c.want {
			t.Errorf("%v: %d faults, want %d: %.300v", c.set, len(faults.List), c.want, err)
		}
	}
}
