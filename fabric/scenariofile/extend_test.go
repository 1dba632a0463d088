package scenariofile_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

func paperRack(t *testing.T) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.Parse("pcn-16to2.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An Extender accepts and refuses the same changes, with the same errors, as a check of all
// changes from the beginning, also of changes that are not in order of time.
func TestExtenderIsLikeExtend(t *testing.T) {
	refused := 0
	for seed := range uint64(6) {
		for _, form := range []func(*topology.Scenario) *topology.Scenario{func(s *topology.Scenario) *topology.Scenario { return s }, (*topology.Scenario).Fold} {
			twin, start := form(paperRack(t)), form(paperRack(t)) // a folded one has one successor only
			extender, source := scenariofile.NewExtender(start), steering.New(start, seed)
			for i := range 80 {
				c := source.Change(unit.Time(source.IntN(40)) * unit.Microsecond)
				if i%3 > 0 {
					c.At = unit.Time(50+i) * unit.Microsecond
				}
				want, wantErr := scenariofile.Extend(twin, c)
				got, err := extender.Extend(c)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("seed %d, change %d: %v, want %v", seed, i, err, wantErr)
				}
				if err != nil {
					refused++
					continue
				}
				if d := cmp.Diff(want.Changes, got.Changes) + cmp.Diff(want.Bursts, got.Bursts) + cmp.Diff(want.Flows, got.Flows) + cmp.Diff(want.Commands, got.Commands); d != "" {
					t.Fatalf("seed %d, change %d (-want +got):\n%s", seed, i, d)
				}
				twin = want
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d changes refused, want some of each", refused)
	}
}

// The first change that chooses a scheme begins the account of the schemes in use: flows of the
// scenario before it count.
func TestExtenderKnowsSchemesInUse(t *testing.T) {
	e := scenariofile.NewExtender(paperRack(t))
	choose := func(scheme, flows string) error {
		_, err := e.Extend(topology.Change{At: unit.Microsecond, Verb: topology.ChangeScheme, Scheme: topology.SchemeSpec{Name: scheme, Flows: flows}})
		return err
	}
	if _, err := e.Extend(topology.Change{Verb: topology.ChangeFreeze, Nodes: []string{"h0"}}); err != nil {
		t.Fatal(err)
	}
	if err := choose("pcn", topology.Everything); err != nil {
		t.Error(err)
	}
	if err := choose("timely-ecn", "h0->r0"); err == nil {
		t.Error("one class has two marking laws")
	}
}

// The name that an Extender proposes is not in use, also after a refused change.
func TestFreeName(t *testing.T) {
	e := scenariofile.NewExtender(paperRack(t))
	burst := topology.Change{Verb: topology.ChangeBurst, Burst: topology.BurstSpec{From: []string{"h0"}, To: "r1", Flows: 1, Size: 1000, Class: topology.DataClass}}
	for i := range 5 {
		burst.Burst.Name = e.FreeName("b")
		if _, err := e.Extend(burst); err != nil {
			t.Errorf("%d: %s: %v", i, burst.Burst.Name, err)
		}
		var faults *scenariofile.Faults
		if _, err := e.Extend(burst); !errors.As(err, &faults) || faults.List[0].Key != "change.burst.name" {
			t.Errorf("%d: %s again: %v", i, burst.Burst.Name, err)
		}
	}
}
