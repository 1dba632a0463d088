package scenariofile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/fabric/workload"
)

// generator makes scenarios from the numbers in their names.
type generator struct {
	form        string // of the name: star-N
	least, most int    // of each number
	text        func(name string, numbers []int) []byte
}

// generators lists the generated scenarios.
var generators = []generator{
	{"star-N", 1, maxSide, star},
	{"dumbbell-N-M", 1, maxSide, dumbbell},
	{"sharing-N-M", 1, maxSide, sharing},
	{"incast-N", 1, maxTree - 1, incast},
	{"permutation-N", 2, maxTree, permutation},
}

// maxSide bounds the hosts on each side of a star and a dumbbell: the default buffer holds
// the headroom of that many ports.
const maxSide = 64

// generated returns the generated scenario of that name, and false if there is none.
func generated(name string) ([]byte, bool) {
	for _, g := range generators {
		prefix, placeholders, _ := strings.Cut(g.form, "-")
		given, ok := strings.CutPrefix(name, prefix+"-")
		if !ok {
			continue
		}
		numbers := g.numbers(strings.Split(given, "-"))
		if len(numbers) != len(strings.Split(placeholders, "-")) {
			return nil, false
		}
		return g.text(name, numbers), true
	}
	return nil, false
}

// CheckNumbers returns an error if name begins like the name of a generated scenario, incast-N, but
// its numbers are missing or out of range.
func CheckNumbers(name string) error {
	for _, g := range generators {
		prefix, placeholders, _ := strings.Cut(g.form, "-")
		given, ok := strings.CutPrefix(name, prefix+"-")
		if ok && len(g.numbers(strings.Split(given, "-"))) != len(strings.Split(placeholders, "-")) {
			return fmt.Errorf("invalid scenario name %q: must be %s, each number from %d to %d", name, g.form, g.least, g.most)
		}
	}
	return nil
}

// numbers parses the numbers of a name, up to the first that is invalid.
func (g *generator) numbers(given []string) (list []int) {
	for _, s := range given {
		n, err := strconv.Atoi(s)
		if err != nil || n < g.least || n > g.most || strconv.Itoa(n) != s {
			return list[:0]
		}
		list = append(list, n)
	}
	return list
}

// The scenarios star and dumbbell without their flows: formats of the name, and of the last
// indices of senders and receivers. Rate and delay are those of PCN §3.1.
const (
	heading = `name: %s
seed: 1
duration: 2ms
scheme: pfc
defaults:
  link: {rate: 40Gbps, delay: 5us}
`
	starForm = heading + `nics: {h0..h%[2]d: , r0: }
switches: {s0: }
links:
  - endpoints: ["h0..h%[2]d, r0", s0]
`
	dumbbellForm = heading + `nics: {h0..h%[2]d: , r0..r%[3]d: }
switches: {s0..s1: }
links:
  - endpoints: [h0..h%[2]d, s0]
  - endpoints: [s0, s1]
  - endpoints: [r0..r%[3]d, s1]
`
)

// sharingForm begins the scenario sharing: the name, the seed, and the last index of the senders. The
// buffer is that of the HPCC simulator (mix/config.txt), and so are the thresholds, for DCQCN at
// 100 Gbit/s (run.py). The payload is the largest path MTU of InfiniBand.
const sharingForm = `name: %s
seed: %d
duration: 8ms
scheme: dcqcn
defaults:
  nic: {payload: 4096B}
  link: {rate: 100Gbps, delay: 1us, mtu: 4400B}
  switch: {buffer: 32MB, kmin: 400KB, kmax: 1600KB, pmax: 0.2}
nics: {h0..h%[3]d: , r0: }
switches: {s0: }
links:
  - endpoints: ["h0..h%[3]d, r0", s0]
flows:
`

// sharing returns a scenario in which n[0] hosts send to one receiver without end, each from an
// instant in the first millisecond on that the seed n[1] chooses.
func sharing(name string, n []int) []byte {
	b := fmt.Appendf(nil, sharingForm, name, n[1], n[0]-1)
	for i := range n[0] {
		start := workload.Stagger(uint64(n[1]), i, unit.Millisecond)
		b = fmt.Appendf(b, "  - {name: F%d, from: h%d, to: r0, size: endless, start: %dns}\n", i, i, start/unit.Nanosecond)
	}
	return b
}

func star(name string, n []int) []byte { return endless(starForm, name, n[0], 1) }

func dumbbell(name string, n []int) []byte { return endless(dumbbellForm, name, n[0], n[1]) }

// endless returns a scenario with one endless flow per sender, round robin over the
// receivers.
func endless(form, name string, senders, receivers int) []byte {
	b := fmt.Appendf(nil, form+"flows:\n", name, senders-1, receivers-1)
	for i := range senders {
		b = fmt.Appendf(b, "  - {name: F%d, from: h%d, to: r%d, size: endless}\n", i, i, i%receivers)
	}
	return b
}
