package scenariofile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// overridable is the text of a rack in which the seed draws flows over a short or a long path, one sender needs T_s,
// and the scheme decides which switches convert.
func overridable(seed uint64, duration unit.Time, scheme, s1 string, at unit.Time) string {
	return fmt.Sprintf(`name: overridable
seed: %d
duration: %s
bin: 1us
scheme: %s
defaults:
  link: {rate: 10Gbps, delay: 1us}
  switch: {rewrite: {3: rttx}%s}
nics: {h0..h5: {rtt: receiver}, h3: {rtt: echo}}
switches: {s0: , s1: {rewrite: {}}}
links:
  - {endpoints: [h0..h4, s0]}
  - {endpoints: [h5, s1]}
  - {endpoints: [s0, s1], delay: 100us}
workloads: [{name: w, sizes: [[100KB, 0], [300KB, 100]], load: 0.1, from: h0..h3, to: [h4, h5]}]
bursts: [{name: b, from: h0, to: h4, size: 1KB, at: %s}]
changes: [{at: 900us, set: s0.kmin=1KB}]
`, seed, duration, scheme, s1, at)
}

// The scenario with another seed, duration or scheme, and each of its variants, is the scenario of the file with these
// values in it.
func TestOverridesEqualTheFileWithTheirValues(t *testing.T) {
	ages := map[unit.Time]bool{}
	rapid.Check(t, func(t *rapid.T) {
		scheme := rapid.SampledFrom([]string{"pfc", "dcqcn", "timely", "timely-rttx", "nscc"})
		seed, duration := rapid.Uint64Range(0, 30), rapid.SampledFrom([]unit.Time{unit.Millisecond, 1500 * unit.Microsecond})
		s1, at := rapid.SampledFrom([]string{"", ", rttx_d: 3us", ", rttx_age: 1ms", ", rttx_stamp: ts"}).Draw(t, "switches"), rapid.SampledFrom([]unit.Time{0, 30 * unit.Microsecond}).Draw(t, "at")
		text := overridable(seed.Draw(t, "seed"), duration.Draw(t, "duration"), scheme.Draw(t, "scheme"), s1, at)
		o := Overrides{Scheme: scheme.Draw(t, "new scheme"), Duration: duration.Draw(t, "new duration")}
		other := seed.Draw(t, "new seed")
		o.Seed = &other
		got, err := Override(parsedIn(t, text), o)
		equal(t, parsedIn(t, overridable(other, o.Duration, o.Scheme, s1, at)), got, err)
		ages[got.Nodes[6].Switch.RTTX.Age] = true
		same(t, got)

		k := rapid.IntRange(1, 9).Draw(t, "variant")
		draw := got.Draw(k, 20*unit.Microsecond)
		want := parsedIn(t, overridable(draw.Seed, o.Duration, o.Scheme, s1, at+draw.Shift))
		variant, err := Variant(got, k, 20*unit.Microsecond)
		equal(t, want, variant, err)
		// The manifest has the same variants.
		manifest, err := Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		variant, err = Variant(parsedIn(t, string(manifest)), k, 20*unit.Microsecond)
		equal(t, want, variant, err)
	})
	if len(ages) < 3 {
		t.Errorf("ages of flows: %v, want the 1ms of the file, and those of the short and of the long path", ages)
	}
}

func parsedIn(t *rapid.T, text string) *topology.Scenario {
	s, err := Parse("x", []byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return s
}

func equal(t interface{ Fatalf(string, ...any) }, want, got *topology.Scenario, err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(program.Program{})); diff != "" {
		t.Fatalf("%s", diff)
	}
}

// everySection is a file with an object of each kind, whose settings are those of the section defaults.
const everySection = `name: every
duration: 1ms
bin: 1us
scheme: timely-rttx
dscp: {10: 1, 18: 2}
defaults: {nic: {}, switch: {kmin: 5KB, kmax: 200KB, lossless: [3, 4], rewrite: {3: rttx}}, link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h3: {}}
switches: {s0..s1: {}}
links:
  - {endpoints: [h0..h1, s0]}
  - {endpoints: [h2..h3, s1]}
  - {endpoints: [s0, s1]}
flows: [{name: F, from: h0, to: h2, size: 1MB}]
bursts: [{name: B, from: h1, to: h3, size: 64KB, at: 100us}]
workloads: [{name: W, sizes: websearch, load: 0.1}]
collectives: [{name: C, kind: all-reduce, ranks: [h0, h1, h2, h3], size: 64KB}]
commands: [{name: K, verb: put, from: h0, to: h3, size: 64KB}]
schemes: {}
`

// candidates are values of settings, by the unit of their key. Most keys without a unit refuse most of them.
var candidates = map[string][]string{
	times.unit: {"0", "1ns", "500ns", "2us", "30us", "1ms", "2ms", "auto"},
	sizes.unit: {"0", "1B", "8B", "512B", "1KB", "4KB", "64KB", "200KB", "1MB"},
	rates.unit: {"0", "1Mbps", "1Gbps", "25Gbps", "100Gbps"},
	"": {
		"0", "1", "2", "16", "64", "50000", "0.01", "0.5", "0.75", "true", "false", "none", "scheme", "h0", "h1..h2", "[4]", "{3: red}", "{4: rttx}", "{12: 1}",
		"[1, 1, 1, 1, 2, 1, 0, 1]", "[0.1, 0.2]", "[[0us, 1KB]]", "[C]", "hadoop", "packet", "flowlet",
	},
}

// A setting is the same key in the file: of every key, a candidate is refused in both, or gives the same scenario.
func TestEverySettingEqualsTheKeyInTheFile(t *testing.T) {
	keys, set := 0, 0
	for _, p := range partsOf(parsed(t, everySection)) {
		for _, m := range p.metas {
			class, _, _ := strings.Cut(m.key, ".")
			same := isClassKey(class) && class != classKey(0) && class != classKey(3) // one table of keys for all classes
			if p.kind == templatePart || m.fixed || same || p.kind == "" && len(p.names) > 0 {
				continue
			}
			values := candidates[m.unit]
			if words, ok := m.schema["enum"]; ok {
				values = strings.Fields(strings.Trim(fmt.Sprint(words), "[]"))
			}
			valid := 0
			for _, value := range values {
				if valid < 2 && equalInBoth(t, p.kind, m.key, value) {
					valid++
				}
			}
			keys, set = keys+1, set+min(valid, 1)
		}
	}
	if keys < 300 || set < keys*9/10 {
		t.Errorf("%d keys, of which %d have a valid candidate", keys, set)
	}
}

// equalInBoth compares a setting with the same key in the file. It reports whether the value is valid.
func equalInBoth(t *testing.T, kind, key, value string) bool {
	t.Helper()
	got, refused := ParseWith("x", []byte(everySection), []topology.Setting{{Key: join(kind, key), Value: value}})
	text := withKey(t, kind, key, value)
	want, wrong := Parse("x", text)
	if (refused == nil) != (wrong == nil) {
		t.Errorf("%s=%s: %v, but in the file %v\n%s", join(kind, key), value, refused, wrong, text)
	}
	if refused != nil || wrong != nil {
		return false
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(program.Program{})); diff != "" {
		t.Errorf("%s=%s:\n%s", join(kind, key), value, diff)
	}
	return true
}

// withKey returns everySection with a key of all parts of a kind.
func withKey(t *testing.T, kind, key, value string) []byte {
	t.Helper()
	var doc, to yaml.Node
	for text, n := range map[string]*yaml.Node{everySection: &doc, value: &to} {
		if err := yaml.Unmarshal([]byte(text), n); err != nil {
			t.Fatal(err)
		}
	}
	at := doc.Content[0]
	switch {
	case slices.Contains([]string{"nic", "switch", "link"}, kind):
		at = under(under(at, "defaults"), kind)
	case kind != "" && slices.ContainsFunc(schemeSections, func(s schemeSection) bool { return s.scheme == kind }):
		at = under(under(at, "schemes"), kind)
	case kind != "":
		at = under(at, kind+"s").Content[0]
	}
	if class, leaf, ok := strings.Cut(key, "."); ok {
		at, key = under(at, class), leaf
	}
	*under(at, key) = *to.Content[0]
	out, err := yaml.Marshal(&doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// under returns the value of a key, which it adds if need be.
func under(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	n.Content = append(n.Content, text(key), block())
	return n.Content[len(n.Content)-1]
}
