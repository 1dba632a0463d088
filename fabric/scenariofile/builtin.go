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
		return star(name, side(n))
	}
	if sides, ok := strings.CutPrefix(name, "dumbbell-"); ok {
		n, m, _ := strings.Cut(sides, "-")
		return dumbbell(name, side(n), side(m))
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

// heading is the common beginning of the generated scenarios. Rate and delay are
// those of PCN §3.1.
const heading = `name: %s
seed: 1
duration: 2ms
scheme: pfc
defaults:
  link: {rate: 40Gbps, delay: 5us}
`

func star(name string, senders int) ([]byte, bool) {
	if senders == 0 {
		return nil, false
	}
	var b strings.Builder
	fmt.Fprintf(&b, heading, name)
	fmt.Fprintf(&b, "nics: {h0..h%d: , r0: }\nswitches: {s0: }\n", senders-1)
	fmt.Fprintf(&b, "links:\n  - endpoints: [\"h0..h%d, r0\", s0]\n", senders-1)
	longFlows(&b, senders, 1)
	return []byte(b.String()), true
}

func dumbbell(name string, senders, receivers int) ([]byte, bool) {
	if senders == 0 || receivers == 0 {
		return nil, false
	}
	var b strings.Builder
	fmt.Fprintf(&b, heading, name)
	fmt.Fprintf(&b, "nics: {h0..h%d: , r0..r%d: }\nswitches: {s0..s1: }\n", senders-1, receivers-1)
	fmt.Fprintf(&b, "links:\n  - endpoints: [h0..h%d, s0]\n  - endpoints: [s0, s1]\n  - endpoints: [r0..r%d, s1]\n", senders-1, receivers-1)
	longFlows(&b, senders, receivers)
	return []byte(b.String()), true
}

// longFlows writes one endless flow per sender, round robin over the receivers.
func longFlows(b *strings.Builder, senders, receivers int) {
	b.WriteString("flows:\n")
	for i := range senders {
		fmt.Fprintf(b, "  - {name: F%d, from: h%d, to: r%d, size: endless}\n", i, i, i%receivers)
	}
}
