package sweep

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// tiny is a rack with a very short run: a burst over one switch.
const tiny = `name: tiny
duration: 60us
scheme: pfc
defaults:
  switch: {xoff: 20KB}
  link: {rate: 40Gbps, delay: 1us}
nics: {h0..h2: , r0: }
switches: {s0: }
links:
  - endpoints: ["h0..h2, r0", s0]
flows:
  - {name: F0, from: h0, to: r0, size: endless}
bursts:
  - {name: burst, from: h1..h2, to: r0, size: 64KB, at: 10us}
`

func axis(t testing.TB, s string) Axis {
	t.Helper()
	a, err := ParseAxis(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// grid varies the tiny rack over axes of the form "KEY=V1,V2".
func grid(t testing.TB, axes ...string) Grid {
	t.Helper()
	g := Grid{File: "tiny.yaml", Data: []byte(tiny)}
	for _, s := range axes {
		g.Axes = append(g.Axes, axis(t, s))
	}
	return g
}

func TestParseAxes(t *testing.T) {
	for text, want := range map[string]Axis{
		"switch.xoff=20KB":                    {"switch.xoff", []string{"20KB"}},
		"switch.xoff=20KB, 40KB":              {"switch.xoff", []string{"20KB", "40KB"}},
		"switch.lossless=[3],[3, 4]":          {"switch.lossless", []string{"[3]", "[3, 4]"}},
		"switch.marking={3: red, 4: none},{}": {"switch.marking", []string{"{3: red, 4: none}", "{}"}},
		"F0.size=endless":                     {"F0.size", []string{"endless"}},
	} {
		if diff := cmp.Diff(want, axis(t, text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"switch.xoff":      "want KEY=VALUE,VALUE",
		"=1":               "want KEY=VALUE,VALUE",
		"a=":               "want KEY=VALUE,VALUE",
		"a=1,,2":           "a: value 2 of 3 is empty",
		"a=1,2,1":          "a: value 1 is repeated",
		"switch.xoff=1KB,": "value 2 of 2 is empty",
	} {
		if _, err := ParseAxis(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestCellsIterateTheLastAxisFastest(t *testing.T) {
	g := grid(t, "switch.xoff=20KB,30KB", "scheme=pfc,pcn", "seed=1,2,3")
	var cells []string
	for cell := range g.Cells() {
		var values []string
		for _, s := range g.Settings(cell) {
			values = append(values, s.Value)
		}
		cells = append(cells, strings.Join(values, " "))
	}
	want := []string{
		"20KB pfc 1", "20KB pfc 2", "20KB pfc 3", "20KB pcn 1", "20KB pcn 2", "20KB pcn 3",
		"30KB pfc 1", "30KB pfc 2", "30KB pfc 3", "30KB pcn 1", "30KB pcn 2", "30KB pcn 3",
	}
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Error(diff)
	}
	if g := grid(t); g.Cells() != 1 || len(g.Settings(0)) != 0 {
		t.Error("a grid without axes must have the scenario as its only cell")
	}
}

// All cells of a grid differ, and each takes its values from the axes.
func TestEveryCombinationOccursOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Grid
		for i := range rapid.IntRange(0, 4).Draw(t, "axes") {
			values := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,2}`), 1, 4, rapid.ID).Draw(t, "values")
			g.Axes = append(g.Axes, Axis{string(rune('A' + i)), values})
		}
		seen := map[string]bool{}
		for cell := range g.Cells() {
			name := ""
			for i, s := range g.Settings(cell) {
				if s.Key != g.Axes[i].Key || !slices.Contains(g.Axes[i].Values, s.Value) {
					t.Fatalf("cell %d has %v", cell, s)
				}
				name += s.Key + s.Value
			}
			if seen[name] {
				t.Fatalf("cell %d occurs twice: %s", cell, name)
			}
			seen[name] = true
		}
	})
}

func TestInvalidGridIsRejected(t *testing.T) {
	for _, c := range []struct {
		axes []string
		want string
	}{
		{[]string{"switch.xoff=1KB", "switch.xoff=2KB"}, "switch.xoff is varied twice"},
		{[]string{"switch.xof=1KB,2KB"}, "tiny.yaml: switch.xof: unknown key, want one of switch.buffer, "},
		{[]string{"switch.xoff=20KB,five"}, "tiny.yaml: switch.xoff: "},
		{[]string{"scheme=pfc,tcp"}, `unknown scheme "tcp", want one of pfc`},
	} {
		g := grid(t, c.axes...)
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: got %v, want one line with %s", c.axes, err, c.want)
		}
	}
	g := grid(t, "switch.xoff=20KB,5", "link.delay=1us,6")
	if err := g.Validate(); err == nil || strings.Count(err.Error(), "has no unit") != 2 {
		t.Errorf("got %v, want both faults", err)
	}
	many := make([]string, 400)
	for i := range many {
		many[i] = strings.Repeat("1", i+1)
	}
	g = Grid{Axes: []Axis{{"a", many}, {"b", many}}}
	if err := g.Validate(); err == nil || !strings.Contains(err.Error(), "more than 100000 cells") {
		t.Errorf("got %v", err)
	}
}

func TestColumnIsNumericIfItsValuesAre(t *testing.T) {
	for text, want := range map[string]Column{
		"switch.xoff=20KB,0":         {"switch.xoff_bytes", Integer},
		"link.delay=1us,1500ns":      {"link.delay_us", Real},
		"F0.initial_rate=1Gbps,0":    {"F0.initial_rate_gbps", Real},
		"burst.flows_per_sender=1,2": {"burst.flows_per_sender", Integer},
		"pcn.wmin=0.5,1e-3":          {"pcn.wmin", Real},
		"F0.size=1KB,endless":        {"F0.size", Text},
		"scheme=pfc,pcn":             {"scheme", Text},
		"seed=1,2":                   {"seed", Integer},
		"seed=18446744073709551615":  {"seed", Text},
	} {
		s, err := scenariofile.Parse("tiny", []byte(tiny))
		if err != nil {
			t.Fatal(err)
		}
		g := Grid{Axes: []Axis{axis(t, text)}}
		if diff := cmp.Diff(want, g.axes(s)[0].column(0).Column); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
