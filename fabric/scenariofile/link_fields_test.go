package scenariofile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const flawed = `
name: flawed
duration: 1ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us, corrupt: 1e-6}}
nics: {h0..h1: , r0: }
switches: {s0..s1: }
links:
  - {endpoints: [h0..h1, s0], loss: 1e-5}
  - {endpoints: [s0, s1], loss: [0.25, 0]}
  - {endpoints: [r0, s1], corrupt: [0, 1]}
`

// An error rate applies to both directions, or is a list of two. The manifest
// preserves it.
func TestErrorRatesOfLinks(t *testing.T) {
	s := parsed(t, flawed)
	same(t, s)
	got := map[string][2]topology.Ways{}
	for i, l := range s.Links {
		got[s.DirectionNames(i)[topology.Forth]] = [2]topology.Ways{l.Loss, l.Corrupt}
	}
	want := map[string][2]topology.Ways{
		"h0->s0": {{1e-5, 1e-5}, {1e-6, 1e-6}},
		"h1->s0": {{1e-5, 1e-5}, {1e-6, 1e-6}},
		"s0->s1": {{0.25, 0}, {1e-6, 1e-6}},
		"r0->s1": {{}, {0, 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A setting of a command line changes a link or one of its directions. Settings apply
// in order.
func TestSettingsOfDirections(t *testing.T) {
	for _, c := range []struct {
		set  string
		want topology.Ways // of the loss of s0--s1
	}{
		{"link.loss=0.5", topology.Ways{0.5, 0.5}},
		{"s1--s0.loss=0.5", topology.Ways{0.5, 0.5}},
		{"s0->s1.loss=0.5", topology.Ways{0.5, 0}},
		{"s1->s0.loss=0.5", topology.Ways{0.25, 0.5}},
		{"s0--s1.loss=[0.125, 0.5]", topology.Ways{0.125, 0.5}},
		{"s1->s0.loss=0.5 s0--s1.loss=0", topology.Ways{}},
		{"s0--s1.loss=0 s1->s0.loss=0.5", topology.Ways{0, 0.5}},
	} {
		var list []topology.Setting
		for one := range strings.SplitSeq(strings.ReplaceAll(c.set, ", ", ","), " ") {
			key, value, _ := strings.Cut(one, "=")
			list = append(list, topology.Setting{Key: key, Value: value})
		}
		s, err := ParseWith("flawed.yaml", []byte(flawed), list)
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
		} else if got := s.Links[2].Loss; got != c.want {
			t.Errorf("%s: %v, want %v", c.set, got, c.want)
		}
	}
}

// A change of an error rate affects only the ends at which the frames arrive, and
// keeps earlier changes.
func TestErrorRatesChange(t *testing.T) {
	s := parsed(t, flawed+"changes:\n  - {at: 1us, set: s0--s1.corrupt=0.5}\n  - {at: 2us, set: s0->s1.loss=1e-3}\n  - {at: 3us, set: link.loss=0}\n")
	same(t, s)
	want := []Tuning{tuning(4, fabric.Change{Port: 0, Key: fabric.KeyCorrupt, Share: 0.5}), tuning(3, fabric.Change{Port: 2, Key: fabric.KeyCorrupt, Share: 0.5})}
	if diff := cmp.Diff(want, tuned(s, 0)); diff != "" {
		t.Error(diff)
	}
	want = []Tuning{tuning(4, fabric.Change{Port: 0, Key: fabric.KeyLoss, Share: 1e-3})}
	if diff := cmp.Diff(want, tuned(s, 1)); diff != "" {
		t.Error(diff)
	}
	if n := len(tuned(s, 2)); n != 2*len(s.Links) {
		t.Errorf("link.loss changes %d directions of %d links", n, len(s.Links))
	}
	flaws := func(node int, before unit.Time) (text string) {
		for _, one := range NodeSettings(s, node, before) {
			if strings.Contains(one.Key, "->") {
				text += one.Key + "=" + one.Value + " "
			}
		}
		return text
	}
	for _, c := range []struct {
		before unit.Time
		want   string
	}{
		{0, "s0->s1.loss=0.25 s0->s1.corrupt=1e-06 "},
		{2 * unit.Microsecond, "s0->s1.loss=0.25 s0->s1.corrupt=0.5 "},
		{3 * unit.Microsecond, "s0->s1.loss=0.001 s0->s1.corrupt=0.5 "},
		{unit.Millisecond, "s0->s1.corrupt=0.5 "},
	} {
		if got := flaws(4, c.before); got != c.want {
			t.Errorf("settings at s1 before %s: %q, want %q", c.before, got, c.want)
		}
	}
}

// Links that lose frames need a retransmission timer.
func TestLossWithoutATimer(t *testing.T) {
	for _, c := range []struct {
		set  []topology.Setting
		want int
	}{
		{[]topology.Setting{{Key: "r0.timeout", Value: "0"}}, 1},
		{[]topology.Setting{{Key: "r0.timeout", Value: "0"}, {Key: "link.loss", Value: "0"}, {Key: "link.corrupt", Value: "0"}}, 0},
		{nil, 0},
	} {
		s, err := ParseWith("flawed.yaml", []byte(flawed), c.set)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, w := range Warnings(s) {
			if w.Key == "r0.timeout" {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%v: %v", c.set, Warnings(s))
		}
	}
}

// Faults of invalid rates name the file, the key and the allowed values.
func TestFaultsOfErrorRates(t *testing.T) {
	links := func(text string) string { return strings.Replace(flawed, "loss: [0.25, 0]", text, 1) }
	change := func(set string) string { return flawed + "changes:\n  - {at: 1us, set: \"" + set + "\"}\n" }
	for _, c := range []struct{ text, want string }{
		{links("loss: 1.5"), `links[1].loss: "1.5" is not a number in [0, 1]`},
		{links("loss: -1e-5"), `links[1].loss: "-1e-5" is not a number in [0, 1]`},
		{links("corrupt: .nan"), `links[1].corrupt: ".nan" is not a number in [0, 1]`},
		{links("loss: 1%"), `links[1].loss: "1%" is not a number in [0, 1]`},
		{links("loss: [0.1]"), "links[1].loss: want a number in [0, 1], or a list of two: from the first end to the second, and back"},
		{links("loss: [0.1, 2]"), `links[1].loss: "2" is not a number in [0, 1]`},
		{change("s0->s1.delay=1us"), `changes[0].set: unknown setting "delay", want one of loss, corrupt`},
		{change("s0--s1.delay=1us"), `changes[0].set: "delay" cannot change while the rack runs, want one of loss, corrupt`},
		{change("s0->s1.loss=2"), `changes[0].set: "2" is not a number in [0, 1]`},
		{change("s0->h9.loss=0.1"), `changes[0].set: unknown link s0->h9, want A->B or A--B with the names of two neighbours`},
		{change("s0--h9.loss=0.1"), `changes[0].set: unknown link s0--h9, want A->B or A--B with`},
		{change("s0--s1#2.loss=0.1"), `changes[0].set: unknown link s0--s1#2, want A->B or A--B with`},
	} {
		_, err := Parse("flawed.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
