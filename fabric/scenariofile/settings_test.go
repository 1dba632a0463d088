package scenariofile

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// with returns the sample with settings "key=value".
func with(t testing.TB, settings ...string) (*topology.Scenario, error) {
	t.Helper()
	var list []topology.Setting
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		list = append(list, topology.Setting{Key: key, Value: value})
	}
	return ParseWith("sample", []byte(sample), list)
}

func mustWith(t testing.TB, settings ...string) *topology.Scenario {
	t.Helper()
	s, err := with(t, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSettingEqualsTheSameKeyInTheFile(t *testing.T) {
	for _, c := range []struct{ setting, old, with string }{
		{"duration=2ms", "duration: 1ms", "duration: 2ms"},
		{"seed=8", "seed: 7", "seed: 8"},
		{"scheme=pfc", "scheme: pcn", "scheme: pfc"},
		{"pcn.wmin=0.1", "wmin: 0.01", "wmin: 0.1"},
		{"nic.payload=500B", "  h0..h3: {payload: 1000B}\n  r0:\n", "  h0..h3: {payload: 500B}\n  r0: {payload: 500B}\n"},
		{"h0..h3.payload=500B", "payload: 1000B", "payload: 500B"},
		{"switch.xoff=100KB", "buffer: 12MB", "buffer: 12MB, xoff: 100KB"},
		{"s1.xoff=100KB", "links:\n", "  s1: {xoff: 100KB}\nlinks:\n"},
		{"switch.lossless=[3, 4]", "buffer: 12MB", "buffer: 12MB, lossless: [3, 4]"},
		{"switch.marking={3: red}", "buffer: 12MB", "buffer: 12MB, marking: {3: red}"},
		{"nic.entropy=mixed", "  h0..h3: {payload: 1000B}\n  r0:\n", "  h0..h3: {payload: 1000B, entropy: mixed}\n  r0: {entropy: mixed}\n"},
		{"h0..h3.entropies=256", "payload: 1000B", "payload: 1000B, entropies: 256"},
		// The headrooms are recomputed.
		{"link.delay=1us", "delay: 5us", "delay: 1us"},
		{"s1--s0.rate=50Gbps", "rate: 100Gbps", "rate: 50Gbps"},
		{"s0--s1.rate=50Gbps", "rate: 100Gbps", "rate: 50Gbps"},
		{"F0.initial_rate=2Gbps", "start: 0us", "start: 0us, initial_rate: 2Gbps"},
		{"flow.size=endless", "size: 1MB", "size: endless"},
		{"burst.flows_per_sender=4", "at: 100us", "at: 100us, flows_per_sender: 4"},
		{"burst.from=h2..h3", "from: h1..h3", "from: h2..h3"},
	} {
		want := parsed(t, edited(t, c.old, c.with))
		if diff := cmp.Diff(want, mustWith(t, c.setting)); diff != "" {
			t.Errorf("%s:\n%s", c.setting, diff)
		}
	}
}

func TestLastSettingWins(t *testing.T) {
	s := mustWith(t, "s1.xoff=100KB", "switch.xoff=50KB", "s0.xoff=60KB")
	if a, b := s.Nodes[5].Switch.XOFF, s.Nodes[6].Switch.XOFF; a != 60*unit.Kilobyte || b != 50*unit.Kilobyte {
		t.Errorf("xoff %s at s0 and %s at s1", a, b)
	}
}

func TestFaultsOfSettings(t *testing.T) {
	for setting, want := range map[string]string{
		"xoff=1KB":               "sample: xoff: unknown key, want one of seed, duration, bin, scheme",
		"switch.xof=1KB":         "sample: switch.xof: unknown key, want one of switch.buffer, switch.reserve,",
		"s1.payload=1KB":         "sample: s1.payload: unknown key, want one of s1.buffer,",
		"s9.xoff=1KB":            `sample: s9.xoff: unknown part "s9", want one of topology, nic, switch, link, flow, burst, `,
		"h2..h4.payload=500B":    `unknown part "h4"`,
		"s0--h9.rate=1Gbps":      `unknown part "s0--h9"`,
		"flow.name=x":            "flow.name: unknown key, want one of flow.from,",
		"nics={}":                "nics: unknown key",
		"s0--s1.endpoints=x":     "unknown key, want one of s0--s1.rate, s0--s1.delay",
		"switch.xoff=5":          `sample: switch.xoff: "5" has no unit, want a number and a unit, from 0B to`,
		"switch.xoff=5parsec":    "want one of B, ",
		"switch.xoff=":           "switch.xoff: ",
		"switch.xoff=&a 1KB":     "must be a YAML value",
		"switch.xoff={":          "must be a YAML value",
		"s1.xoff=900MB":          "sample: s1.xoff: 900MB is never reached",
		"pcn.wmin=0.9":           "sample: pcn.wmin: 0.9 is above wmax 0.5",
		"nic.entropy=best":       `sample: nic.entropy: "best" is unknown, want one of scheme, flow, oblivious, bitmap, reps, reps-legacy, mixed`,
		"h0.entropies=96":        "sample: h0.entropies: 96 is no power of two, want 2, 4, 8 and so on up to 1024",
		"h0.entropies=2048":      "sample: h0.entropies: ",
		"scheme=tcp":             `scheme: unknown scheme "tcp"`,
		"F0.initial_rate=80Gbps": "F0.initial_rate: 80Gbps is above the 40Gbps",
		"burst.at=2ms":           "burst.at: 2ms is not before the end of the run",
		"F0.to=r9":               "F0.to: unknown node r9",
	} {
		if _, err := with(t, setting); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %s", setting, err, want)
		}
	}
	text := edited(t, "bursts:\n  - {name: burst, from: h1..h3, to: r0, size: 64KB, at: 100us}\n", "")
	if _, err := ParseWith("f", []byte(text), []topology.Setting{{Key: "burst.size", Value: "1KB"}}); err == nil || !strings.Contains(err.Error(), "the scenario has no burst") {
		t.Errorf("got %v", err)
	}
}

func TestUnitsOfSettings(t *testing.T) {
	s := parsed(t, sample)
	for _, c := range []struct {
		key, value, unit string
		amount           float64
	}{
		{"duration", "1.5ms", "us", 1500},
		{"s0..s1.xoff", "100KB", "bytes", 100_000},
		{"s0--h1.delay", "0", "us", 0},
		{"burst.flows_per_sender", "4", "", 4},
		{"F0.initial_rate", "2500Mbps", "Gbit/s", 2.5},
		{"pcn.wmin", "1e-2", "", 0.01},
	} {
		amount, ok := Amount(Unit(s, c.key), c.value)
		if Unit(s, c.key) != c.unit || !ok || math.Abs(amount-c.amount) > 1e-12 {
			t.Errorf("%s=%s: %v %q, %v, want %v %s", c.key, c.value, amount, Unit(s, c.key), ok, c.amount, c.unit)
		}
	}
	if _, ok := Amount(Unit(s, "F0.size"), "endless"); ok || Unit(s, "nobody.home") != "" || Unit(s, "flow.name") != "" {
		t.Error("text has an amount")
	}
}
