package lab_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const twoLossless = `name: classes
duration: 1ms
defaults: {link: {rate: 40Gbps, delay: 1us}, switch: {lossless: [3, 4], xoff: 200KB, class4: {alpha: 1/4}, class1: {reserve: 3KB, limit: 100KB}}}
nics: {h0..h1: }
switches: {s0: }
links: [{endpoints: [h0..h1, s0]}]
`

// Settings of classes that are changed in any order while the rack runs leave the
// switch with the thresholds of a file that has them from the start.
func TestChangedClassesAreThoseOfTheFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	settings := func() topology.Setting {
		lossless, lossy := 3+random.IntN(2), random.IntN(3)
		kilobytes := fmt.Sprintf("%dKB", 20+random.IntN(100))
		list := []topology.Setting{
			{Key: "switch.xoff", Value: kilobytes},
			{Key: "s0.alpha_shift", Value: fmt.Sprint(random.IntN(5))},
			{Key: "s0.xon_offset", Value: fmt.Sprintf("%dKB", random.IntN(18))},
			{Key: fmt.Sprintf("s0.class%d.xoff", lossless), Value: kilobytes},
			{Key: fmt.Sprintf("s0.class%d.alpha", lossless), Value: []string{"1/8", "1", "0.5", "4"}[random.IntN(4)]},
			{Key: fmt.Sprintf("s0.class%d.xon_offset", lossless), Value: fmt.Sprintf("%dKB", random.IntN(18))},
			{Key: fmt.Sprintf("s0.class%d.limit", lossy), Value: kilobytes},
			{Key: fmt.Sprintf("s0.class%d.alpha", lossy), Value: "1/2"},
		}
		return list[random.IntN(len(list))]
	}
	for range 40 {
		s, err := topology.Parse("classes.yaml", []byte(twoLossless))
		if err != nil {
			t.Fatal(err)
		}
		var given []topology.Setting
		live := newLab(t, s)
		for at := unit.Microsecond; len(given) < 12; at += unit.Microsecond {
			one := settings()
			if live.Change(topology.Change{At: at, Verb: topology.ChangeSet, Set: one}) == nil {
				given = append(given, one)
			}
		}
		// In a file the last setting wins too, and what the switch gives comes after
		// what a class has of its own.
		file, err := topology.ParseWith("classes.yaml", []byte(twoLossless), given)
		if err != nil {
			t.Fatal(err)
		}
		live.Run(s.Duration)
		if diff := cmp.Diff(accounts(newLab(t, file).Machine(2)), accounts(live.Machine(2))); diff != "" {
			t.Fatalf("after %v:\n%s", given, diff)
		}
	}
}

// accounts gives what an empty switch says of each class at its port 0.
func accounts(m fabric.Machine) (list []switching.Account) {
	for class := range fabric.Priority(fabric.Priorities) {
		a := m.(*switching.Switch).Account(0, class)
		if !a.Dynamic {
			a.AlphaShift = 0 // counts for nothing
		}
		list = append(list, a)
	}
	return list
}
