package scenariofile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/topology"
)

// Parse panics on no input. A scenario that it accepts is written and parsed back as
// the same scenario.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(changed))
	f.Add([]byte(leafSpine))
	f.Add([]byte(loaded))
	f.Add([]byte(programmed))
	f.Add([]byte(collected))
	f.Add([]byte(waited))
	for _, keys := range []string{"leaf-spine, hosts: 2, oversubscription: 0.5", "fat-tree, k: 2, parallel: 2", "rail, servers: 2, nics: 2, spines: none", "dragonfly, routers: 2, groups: 2"} {
		f.Add([]byte(byTemplate(keys)))
	}
	for _, name := range []string{"pcn-16to2", "star-2", "dumbbell-2-2"} {
		text, _ := Builtin(name)
		f.Add(text)
	}
	f.Add([]byte("name: [&a {b: *a}]"))
	f.Add([]byte("? {a: b}\n: c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Parse("fuzz.yaml", data); err == nil {
			same(t, s)
		}
	})
}

// PROG-9: The steps that WritePrograms writes are read back, whatever the programs and collectives are.
func FuzzWritePrograms(f *testing.F) {
	for _, text := range []string{programmed, collected, strings.Replace(collected, ", class: 4", "", 1), waiting, dispatched, waited} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("fuzz.yaml", data)
		if err != nil {
			return
		}
		var programs strings.Builder
		if WritePrograms(&programs, s) != nil {
			return
		}
		rack := *s
		rack.Programs, rack.Collectives = nil, nil
		text, err := encode(&rack)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("written.yaml", append(text, programs.String()...))
		if err != nil {
			t.Fatalf("%v\nin\n%s%s", err, text, programs.String())
		}
		if diff := cmp.Diff(stepsIn(s, firstTag(s)), stepsIn(again, 0)); diff != "" {
			t.Fatalf("%s\nin\n%s", diff, programs.String())
		}
	})
}

// Any setting is either accepted or refused. The result of an accepted setting is a
// valid scenario.
func FuzzSetting(f *testing.F) {
	for _, s := range []topology.Setting{
		{Key: "switch.xoff", Value: "20KB"},
		{Key: "s0--s1.rate", Value: "1Gbps"},
		{Key: "h0..h2.payload", Value: "500B"},
		{Key: "duration", Value: "2ms"},
		{Key: "dcqcn.preset", Value: "connectx"},
		{Key: "burst.from", Value: "[h1, h2]"},
		{Key: "switch.marking", Value: "{3: red}"},
		{Key: "web.load", Value: "0.7"},
		{Key: "workload.sizes", Value: "[[0, 0], [1KB, 12.5], [1MB, 100]]"},
		{Key: "..", Value: "*a"},
		{Key: "F0.", Value: "- -"},
	} {
		f.Add(s.Key, s.Value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		for _, text := range []string{sample, loaded} {
			if s, err := ParseWith("fuzz.yaml", []byte(text), []topology.Setting{{Key: key, Value: value}}); err == nil {
				same(t, s)
			}
		}
	})
}
