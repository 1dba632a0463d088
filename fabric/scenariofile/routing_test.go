package scenariofile

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// paths is a rack with two paths between the leaves.
const paths = `name: paths
duration: 1ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h1: , r0: }
switches: {leaf0: {routing: adaptive, class1: {routing: flowlet}, adaptive_levels: 3}, leaf1: , spine0..spine1: }
links:
  - {endpoints: [h0..h1, leaf0]}
  - {endpoints: [r0, leaf1]}
  - {endpoints: [leaf0..leaf1, spine0..spine1]}
flows:
  - {name: F0, from: h0, to: r0, size: 1MB}
`

// PATH-9
func TestRoutingByClass(t *testing.T) {
	s := parsed(t, paths)
	n := s.Nodes[3].Switch
	if n.Profile(3).Routing != balance.Adaptive || n.Profile(1).Routing != balance.Flowlet || n.Balance.Levels != 3 {
		t.Errorf("class 3 has %v, class 1 %v, %d levels", n.Profile(3).Routing, n.Profile(1).Routing, n.Balance.Levels)
	}
	if other := s.Nodes[4].Switch; other.Profile(3).Routing != balance.ECMP || other.Balance != balance.Default() {
		t.Errorf("leaf1 has %v, %+v", other.Profile(3).Routing, other.Balance)
	}
	written, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again := parsed(t, string(written))
	if got, want := again.Nodes[3].Switch, n; got.Routing != want.Routing || *got.Classes[1].Routing != *want.Classes[1].Routing || got.Balance != want.Balance {
		t.Errorf("written and read again: %+v, want %+v", got, want)
	}
	if text := string(written); strings.Count(text, "routing") != 2 || strings.Count(text, "adaptive_levels") != 1 || strings.Contains(text, "flowlet_gap") {
		t.Errorf("defaults are written:\n%s", text)
	}
}

func TestRoutingFaults(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"switch.routing=conga", `f: switch.routing: "conga" is unknown, want one of ecmp, spray, random, flowlet, adaptive, drill`},
		{"leaf0.class3.routing=[spray]", `f: leaf0.class3.routing: a list is unknown, want one of ecmp, spray`},
		{"switch.adaptive_levels=1", `f: switch.adaptive_levels: "1" is not an integer from 2 to 16`},
		{"switch.adaptive_step=0", `f: switch.adaptive_step: 0 is out of range`},
		{"switch.flowlet_entries=0", `f: switch.flowlet_entries: "0" is not an integer from 1 to 1048576`},
		{"h0.routing=spray", `f: h0.routing: unknown key`},
	} {
		key, value, _ := strings.Cut(c.set, "=")
		_, err := ParseWith("f", []byte(paths), []topology.Setting{{Key: key, Value: value}})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.set, err, c.want)
		}
	}
}

// PATH-9: a change of all classes leaves class 1 of leaf0 alone.
func TestRoutingChanges(t *testing.T) {
	s := parsed(t, paths)
	for _, c := range []struct {
		key, value string
		node       int
		want       fabric.Change
	}{
		{"switch.routing", "drill", 3, fabric.Change{Key: fabric.KeyRouting, Value: int64(balance.DRILL), Classes: 0xfd}},
		{"leaf1.routing", "spray", 4, fabric.Change{Key: fabric.KeyRouting, Value: int64(balance.Spray), Classes: 0xff}},
		{"leaf0.class1.routing", "ecmp", 3, fabric.Change{Key: fabric.KeyRouting, Classes: 2, Named: true}},
		{"leaf0.flowlet_gap", "20us", 3, fabric.Change{Key: fabric.KeyFlowletGap, Value: int64(20 * unit.Microsecond)}},
		{"leaf0.adaptive_levels", "8", 3, fabric.Change{Key: fabric.KeyAdaptiveLevels, Value: 8}},
		{"leaf0.adaptive_step", "1KB", 3, fabric.Change{Key: fabric.KeyAdaptiveStep, Value: 1000}},
	} {
		st := StateBefore(s, 0)
		st.Apply(&topology.Change{Verb: topology.ChangeSet, Set: topology.Setting{Key: c.key, Value: c.value}})
		t.Run(c.key, func(t *testing.T) {
			if len(st.Tunings) == 0 || st.Tunings[0].Node != c.node {
				t.Fatalf("tunings %+v", st.Tunings)
			}
			got := st.Tunings[0].Change
			if got.Verb != fabric.Tune || got.Key != c.want.Key || got.Value != c.want.Value || got.Classes != c.want.Classes || got.Named != c.want.Named {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	if _, err := Extend(s, topology.Change{Verb: topology.ChangeSet, Set: topology.Setting{Key: "leaf0.flowlet_entries", Value: "5"}}); err == nil || !strings.Contains(err.Error(), "cannot change while the rack runs") {
		t.Errorf("flowlet_entries: %v", err)
	}
}

// PATH-10
func TestWarningOfReordering(t *testing.T) {
	const want = "f: leaf0.routing: adaptive reorders packets of class 3, and F0 goes back N at each of them: want routing ecmp or flowlet, or selective recovery"
	for _, c := range []struct{ set, want string }{
		{"", want},
		{"switch.class3.routing=spray", strings.NewReplacer("leaf0.", "leaf0.class3.", "adaptive", "spray").Replace(want)},
		{"scheme=irn", ""},
		{"scheme=mrc", ""},
		{"nic.recovery=spraying", ""},
		{"r0.recovery=selective", want},
		{"nic.recovery=selective", ""},
		{"leaf0.routing=ecmp", ""},
		{"leaf0.routing=flowlet", ""},
		{"F0.class=1", ""},
	} {
		var set []topology.Setting
		if key, value, ok := strings.Cut(c.set, "="); ok {
			set = append(set, topology.Setting{Key: key, Value: value})
		}
		s, err := ParseWith("f", []byte(paths), set)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range Warnings(s) {
			if strings.Contains(f.Key, "routing") {
				got = append(got, (&Faults{File: "f", List: []Fault{f}}).Error())
			}
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %q, want %q", c.set, got, c.want)
		}
	}
	if s := parsed(t, strings.Replace(sample, "{buffer: 12MB}", "{buffer: 12MB, routing: spray}", 1)); strings.Contains((&Faults{List: Warnings(s)}).Error(), "reorders") {
		t.Error("there is one path only")
	}
}
