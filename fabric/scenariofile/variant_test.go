package scenariofile

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

func paperRack(t *testing.T) *topology.Scenario {
	t.Helper()
	text, _ := Builtin("pcn-16to2")
	s, err := Parse("pcn-16to2", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Variant 0 is the scenario itself. Every other variant moves the burst within the
// range, has a seed of its own, and can be written as a file.
func TestVariantsMoveTheBurstAndTheSeed(t *testing.T) {
	s := paperRack(t)
	if same, err := Variant(s, 0, topology.DefaultShift); err != nil || same != s {
		t.Errorf("variant 0 is another scenario (%v)", err)
	}
	seen, before, after := map[topology.Draw]bool{}, 0, 0
	for k := 1; k <= 40; k++ {
		v, err := Variant(s, k, topology.DefaultShift)
		if err != nil {
			t.Fatal(err)
		}
		d, at := s.Draw(k, topology.DefaultShift), v.Bursts[0].At
		if seen[d] || v.Seed != d.Seed || at != s.Bursts[0].At+d.Shift || d.Shift < -topology.DefaultShift || d.Shift > topology.DefaultShift {
			t.Errorf("variant %d: %+v, seed %d, burst at %s", k, d, v.Seed, at)
		}
		for _, f := range v.Flows {
			if f.Burst == 0 && f.Start != at || f.Burst < 0 && f.Start != 0 {
				t.Fatalf("variant %d: %s starts at %s", k, f.Name, f.Start)
			}
		}
		if seen[d] = true; d.Shift < -topology.DefaultShift/2 {
			before++
		} else if d.Shift > topology.DefaultShift/2 {
			after++
		}
		if _, err := Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	if before < 4 || after < 4 {
		t.Errorf("of 40 shifts %d are in the first quarter of the range and %d in the last", before, after)
	}
	if s.Bursts[0].At != 300*unit.Microsecond || s.Seed != 1 {
		t.Error("the scenario itself has changed")
	}
}

// Draws depend only on the seed and the number of the variant, not on the scheme.
func TestDrawsAreRepeatable(t *testing.T) {
	s, other := paperRack(t), paperRack(t)
	other.Scheme = "qcn"
	if s.Draw(7, topology.DefaultShift) != other.Draw(7, topology.DefaultShift) {
		t.Error("the scheme changes the draw")
	}
	other.Seed = 2
	if s.Draw(7, topology.DefaultShift) == other.Draw(7, topology.DefaultShift) {
		t.Error("the seed does not change the draw")
	}
	if d := s.Draw(7, 0); d.Shift != 0 || d.Seed == s.Seed {
		t.Errorf("without a range: %+v", d)
	}
}

// No burst leaves the run, and bursts and commands keep their distances. Flows of
// workloads are not moved.
func TestVariantsStayWithinTheRun(t *testing.T) {
	s, err := Parse("x", []byte(`
name: x
duration: 1ms
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {a: , b: , c: }
switches: {s: }
links: [{endpoints: ["a, b, c", s]}]
flows: [{name: F, from: a, to: b, size: endless, start: 5us}]
bursts:
  - {name: early, from: a, to: b, size: 1KB, at: 3us}
  - {name: late, from: a, to: b, size: 1KB, at: 990us}
commands: [{name: G, verb: get, from: b, to: a, size: 1KB, at: 10us}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Moved(); len(got) != 3 || got[0] != "early" || got[2] != "G" {
		t.Errorf("moved: %v", got)
	}
	for k := 1; k <= 30; k++ {
		v, err := Variant(s, k, topology.DefaultShift)
		if err != nil {
			t.Fatal(err)
		}
		shift := v.Bursts[0].At - 3*unit.Microsecond
		if shift < -3*unit.Microsecond || shift >= 10*unit.Microsecond ||
			v.Bursts[1].At != 990*unit.Microsecond+shift || v.Commands[0].At != 10*unit.Microsecond+shift || v.Flows[0].Start != 5*unit.Microsecond {
			t.Errorf("variant %d: shift %s, %+v, %s", k, shift, v.Bursts, v.Commands[0].At)
		}
	}
}

// A workload without flows under one seed may have flows under another. Settings
// derived from the flows must fit those too.
func TestVariantsOfAWorkloadWithoutFlows(t *testing.T) {
	text, _ := Builtin("leaf-spine")
	s, err := ParseWith("leaf-spine", text, []topology.Setting{{Key: "traffic.until", Value: "20us"}, {Key: "duration", Value: "60us"}})
	if err != nil || len(s.Flows) != 0 {
		t.Fatalf("%d flows, %v", len(s.Flows), err)
	}
	flows := 0
	for k := range 8 {
		v, err := Variant(s, k, topology.DefaultShift)
		if err != nil {
			t.Fatal(err)
		}
		flows += len(v.Flows)
	}
	if flows == 0 {
		t.Error("no variant has flows")
	}
}
