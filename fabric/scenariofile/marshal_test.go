package scenariofile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// same checks that the scenario parses back from its manifest.
func same(t interface{ Fatalf(string, ...any) }, s *topology.Scenario) {
	text, err := Marshal(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	back, err := Parse("manifest.yaml", text)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	if diff := cmp.Diff(s, back, cmp.AllowUnexported(program.Program{})); diff != "" {
		t.Fatalf("the manifest gives another scenario:\n%s\nfrom\n%s", diff, text)
	}
}

func TestManifestRoundTrips(t *testing.T) {
	for _, name := range examples {
		same(t, builtin(t, name))
	}
	same(t, parsed(t, sample))
	same(t, parsed(t, leafSpine))
}

func TestManifestsOfRandomFilesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { same(t, parsedRandom(t)) })
}

// parsedRandom parses a random valid file.
func parsedRandom(t *rapid.T) *topology.Scenario {
	pick := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	n := rapid.IntRange(2, 6).Draw(t, "n")
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nseed: %d\nduration: %s\nscheme: %s\n", pick("name", "x", `"true"`, `"null"`, "y", "A-1", "e-1"),
		rapid.Uint64().Draw(t, "seed"), pick("duration", "1ms", "10us", "1.5s", "123456789ps"), pick("scheme", "pfc", "dcqcn", "timely", "pcn"))
	fmt.Fprintf(&b, "bin: %s\n", pick("bin", "50us", "2us", "1.000001ms"))
	fmt.Fprintf(&b, "defaults: {link: {rate: %s, delay: %s, overhead: %s}}\n", pick("rate", "40Gbps", "2.5Gbps", "400Gbps"),
		pick("delay", "1ns", "5us", "300ns"), pick("overhead", "0", "20B", "-14B"))
	fmt.Fprintf(&b, "nics: {h0..h%d: {timeout: %s, rtt: %s, control_rate: %s}, h1: {ack_every: %s}}\n", n-1, pick("timeout", "0", "4ms"), pick("rtt", "echo", "receiver"),
		pick("control_rate", "0", "2000000"), pick("ack_every", "1", "64"))
	fmt.Fprintf(&b, "switches: {s0: {buffer: 64MB, xoff: %s, lossless: %s, marking: %s, pmax: %s, weights: %s}}\n", pick("xoff", "0", "150KB"),
		pick("lossless", "[]", "[3]", "[0, 3, 7]"), pick("marking", "{}", "{3: red}", "{0: none, 7: npecn}"),
		pick("pmax", "0", "1", "1e-5", "0.1"), pick("weights", "[1, 1, 1, 1, 1, 1, 0, 1]", "[0, 0, 0, 9, 0, 0, 0, 1000]"))
	fmt.Fprintf(&b, "links: [{endpoints: [h0..h%d, s0]}]\n", n-1)
	fmt.Fprintf(&b, "flows: [{name: F0, from: h0, to: h1, size: %s, initial_rate: %s}]\n", pick("size", "endless", "1B", "1TB"), pick("initial", "0", "1Gbps"))
	fmt.Fprintf(&b, "bursts: [{name: b0, from: h1..h%d, to: h0, size: %s, at: %s, flows_per_sender: %d}, {name: b1, from: h0, to: h1, size: 1B, at: 0}]\n",
		n-1, pick("mouse", "64KB", "endless"), pick("at", "0", "9us"), rapid.IntRange(1, 3).Draw(t, "flows"))
	fmt.Fprintf(&b, "schemes:\n  pcn: {wmin: %s, min_rate: %s}\n", pick("wmin", "0.0078125", "1e-9", "0.3333333333333333"), pick("min", "0", "170Mbps"))
	fmt.Fprintf(&b, "  dcqcn: {g: %s, clamp_target: %s, preset: %s}\n", pick("g", "1", "0.00390625"), pick("clamp", "true", "false"), pick("dcqcn", "paper", "connectx", "ns3-rdma", "dcqcn_paper"))
	fmt.Fprintf(&b, "  timely: {preset: %s, burst: %s, hyper_after: %s}\n", pick("timely", "ns3-rdma", "authors", "scaled"), pick("burst", "true", "false"), pick("hyper", "0", "5"))
	s, err := Parse("random.yaml", []byte(b.String()))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, b.String())
	}
	return s
}

func TestOverridesAreCheckedAndReachTheManifest(t *testing.T) {
	s, seed := builtin(t, "pcn-16to2"), uint64(99)
	before := builtin(t, "pcn-16to2")
	changed, err := Override(s, Overrides{Scheme: "pfc", Seed: &seed, Duration: unit.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if changed.Scheme != "pfc" || changed.Seed != 99 || changed.Duration != unit.Millisecond {
		t.Errorf("got %s %d %s", changed.Scheme, changed.Seed, changed.Duration)
	}
	if changed.Flows[0].Source == s.Flows[0].Source && changed.Flows[1].Source == s.Flows[1].Source {
		t.Error("the source ports do not follow the seed")
	}
	if diff := cmp.Diff(before, s); diff != "" {
		t.Errorf("the original changed:\n%s", diff)
	}
	same(t, changed)
}

func TestInvalidOverrideIsRejected(t *testing.T) {
	s := builtin(t, "pcn-16to2")
	for want, o := range map[string]Overrides{
		`scenario: scheme: unknown scheme "tcp", want one of`: {Scheme: "tcp"},
		"scenario: bursts[0].at: 300us is not before the end": {Duration: 300 * unit.Microsecond},
		"scenario: bin: divides 1000s into 20000000 bins":     {Duration: 1000 * unit.Second},
	} {
		if _, err := Override(s, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestMarshalRejectsScenariosNoFileCanDescribe(t *testing.T) {
	for name, change := range map[string]func(*topology.Scenario){
		"Flows":                       func(s *topology.Scenario) { s.Seed = 5 },
		"duration":                    func(s *topology.Scenario) { s.Duration = 0 },
		"links[0] refers to node 100": func(s *topology.Scenario) { s.Links[0].A = 100 },
		"flows[0] refers to node -1":  func(s *topology.Scenario) { s.Flows[0].To = -1 },
		"xoff":                        func(s *topology.Scenario) { s.Nodes[19].Switch.XOFF = unit.Bytes(1) << 40 },
		"Links":                       func(s *topology.Scenario) { s.Links[0].APort = 3 },
		"a NIC has one link":          func(s *topology.Scenario) { s.Links[1] = s.Links[0] },
	} {
		s := builtin(t, "pcn-16to2")
		change(s)
		if _, err := Marshal(s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOverrideChecksAndKeepsTheOriginal(t *testing.T) {
	s := builtin(t, "pcn-16to2")
	if same, err := Override(s, Overrides{Scheme: s.Scheme, Seed: &s.Seed, Duration: s.Duration}); err != nil || same != s {
		t.Fatalf("overrides that change nothing: a copy, %v", err)
	}
	longer := Overrides{Duration: 2 * s.Duration}
	if _, err := Override(s, longer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(builtin(t, "pcn-16to2"), s); diff != "" {
		t.Error(diff)
	}
	s.Nodes[0].NIC.Payload = 5000
	if _, err := Override(s, longer); err == nil || !strings.Contains(err.Error(), "scenario: nics.h0.payload: a payload of 5000B") {
		t.Errorf("got %v", err)
	}
}
