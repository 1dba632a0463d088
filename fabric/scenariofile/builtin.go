package scenariofile

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed builtin/*.yaml
var files embed.FS

// maxSide bounds N and M of the generated scenarios: the default buffer holds the
// headroom of that many ports.
const maxSide = 64

// Builtins lists the scenarios that are built into rackfab. N and M are placeholders
// for numbers from 1 to 64.
func Builtins() []string {
	names := []string{"pcn-16to2"}
	list, _ := files.ReadDir("builtin") // embedded, so it cannot fail
	for _, file := range list {
		if name := strings.TrimSuffix(file.Name(), ".yaml"); name != names[0] {
			names = append(names, name)
		}
	}
	return append(names, "star-N", "dumbbell-N-M")
}

// Builtin returns the file of a built-in scenario, and false if there is none of that
// name:
//
//	pcn-16to2     the rack of PCN §3.1, with its burst
//	fig5          the same rack for the experiment of PCN §4.2
//	ceth-reaction one flow through an episode of congestion, figures 3 and 16 of CETH
//	leaf-spine    32 hosts below 4 leaves and 4 spines, with web search
//	cbrc-waste    a sender that cannot spend what three receivers grant (CBRC-38)
//	star-8        8 senders, one receiver, one switch: an incast of long flows
//	dumbbell-8-2  8 senders and 2 receivers, each side with a switch of its own
func Builtin(name string) ([]byte, bool) {
	if data, err := files.ReadFile("builtin/" + name + ".yaml"); err == nil {
		return data, true
	}
	if n, ok := strings.CutPrefix(name, "star-"); ok {
		return generated(star, name, side(n), 1)
	}
	if sides, ok := strings.CutPrefix(name, "dumbbell-"); ok {
		n, m, _ := strings.Cut(sides, "-")
		return generated(dumbbell, name, side(n), side(m))
	}
	return nil, false
}

// side parses a number from 1 to maxSide. It returns 0 if s is not one.
func side(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxSide || strconv.Itoa(n) != s {
		return 0
	}
	return n
}

// The generated scenarios without their flows: formats of the name, and of the last
// indices of senders and receivers. Rate and delay are those of PCN §3.1.
const (
	heading = `name: %s
seed: 1
duration: 2ms
scheme: pfc
defaults:
  link: {rate: 40Gbps, delay: 5us}
`
	star = heading + `nics: {h0..h%[2]d: , r0: }
switches: {s0: }
links:
  - endpoints: ["h0..h%[2]d, r0", s0]
`
	dumbbell = heading + `nics: {h0..h%[2]d: , r0..r%[3]d: }
switches: {s0..s1: }
links:
  - endpoints: [h0..h%[2]d, s0]
  - endpoints: [s0, s1]
  - endpoints: [r0..r%[3]d, s1]
`
)

// generated returns a scenario with one endless flow per sender, round robin over the
// receivers.
func generated(form, name string, senders, receivers int) ([]byte, bool) {
	if senders == 0 || receivers == 0 {
		return nil, false
	}
	b := fmt.Appendf(nil, form+"flows:\n", name, senders-1, receivers-1)
	for i := range senders {
		b = fmt.Appendf(b, "  - {name: F%d, from: h%d, to: r%d, size: endless}\n", i, i, i%receivers)
	}
	return b, true
}
