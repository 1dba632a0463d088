package scenariofile

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed builtin/*.yaml
var files embed.FS

// Builtins lists the scenarios that are built into rackfab. N and M are placeholders for
// numbers, see Builtin.
func Builtins() []string {
	names := []string{"pcn-16to2"}
	list, _ := files.ReadDir("builtin") // embedded, so it cannot fail
	for _, file := range list {
		if name := strings.TrimSuffix(file.Name(), ".yaml"); name != names[0] {
			names = append(names, name)
		}
	}
	for _, g := range generators {
		names = append(names, g.form)
	}
	return names
}

// BuiltinList returns the names of the built-in scenarios as a sentence lists them, with the range of
// the numbers in a name: "pcn-16to2, star-N (1 to 64)".
func BuiltinList() string {
	names := Builtins()
	for i, g := range generators {
		at := len(names) - len(generators) + i
		names[at] = fmt.Sprintf("%s (%d to %d)", names[at], g.least, g.most)
	}
	return strings.Join(names, ", ")
}

// Builtin returns the file of a built-in scenario, and false if there is none of that
// name:
//
//	pcn-16to2     the rack of PCN §3.1, with its burst
//	fig5          the same rack for the experiment of PCN §4.2
//	ceth-reaction one flow through an episode of congestion, figures 3 and 16 of CETH
//	leaf-spine    32 hosts below 4 leaves and 4 spines, with web search
//	cbrc-waste    a sender that cannot spend what three receivers grant (CBRC-38)
//	path-failure  a leaf-spine rack in which a spine fails, and returns
//	star-8        8 senders, one receiver, one switch: an incast of long flows
//	dumbbell-8-2  8 senders and 2 receivers, each side with a switch of its own
//	sharing-8-3   8 senders that start at random instants, drawn from seed 3, and one receiver
//	incast-64     64 hosts of a fat tree send 1 MB each to one receiver
//	permutation-64   each of 64 hosts of a fat tree sends 10 MB to another one
//
// N and M are at most 64 in star, dumbbell and sharing, 1,023 senders in an incast and 2 to
// 1,024 hosts in a permutation.
func Builtin(name string) ([]byte, bool) {
	if data, err := files.ReadFile("builtin/" + name + ".yaml"); err == nil {
		return data, true
	}
	return generated(name)
}
