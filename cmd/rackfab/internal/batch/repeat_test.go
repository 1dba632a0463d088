package batch

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// repeatable is a rack in which both the burst's instant and the seed matter, because
// RED marks at random.
const repeatable = `name: repeatable
duration: 300us
scheme: dcqcn
defaults:
  switch: {xoff: 20KB, kmin: 2KB, kmax: 20KB, pmax: 1}
  link: {rate: 40Gbps, delay: 1us}
nics: {h0..h3: , r0: }
switches: {s0: }
links: [{endpoints: ["h0..h3, r0", s0]}]
flows: [{name: F0, from: h0, to: r0, size: endless, initial_rate: 20Gbps}]
bursts: [{name: burst, from: h1..h3, to: r0, size: 64KB, at: 100us}]
`

// narrowEngine runs at most n scenarios in memory concurrently.
type narrowEngine struct {
	engine.Engine
	n int
}

func (e narrowEngine) Lanes() int { return e.n }

// inMemory returns an engine that runs in this process.
func inMemory(t *testing.T) engine.Engine {
	t.Helper()
	e, err := engine.New(t.Context(), &topology.Scenario{}, engine.Flags{Bus: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func repeatableUnder(t *testing.T, schemes ...string) (list []*topology.Scenario) {
	t.Helper()
	s, err := scenariofile.Parse("repeatable.yaml", []byte(repeatable))
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range schemes {
		one := *s
		one.Scheme = scheme
		list = append(list, &one)
	}
	return list
}

// The same variants have the same figures however many run concurrently, and each
// variant has the same run by itself.
func TestRepeatsDoNotDependOnProcessorCount(t *testing.T) {
	scenarios := repeatableUnder(t, "dcqcn", "pfc")
	repeats := func(lanes int) *measure.Repeats {
		all, err := runRepeated(t.Context(), narrowEngine{inMemory(t), lanes}, scenarios, repeatFlags{n: 5, shift: topology.DefaultShift})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 2 || all[1][0].Series == nil || all[1][1].Series != nil {
			t.Fatalf("%d scenarios, the second with series %v", len(all), all[1][0].Series)
		}
		r, err := measure.NewRepeats(scenarios[0], topology.DefaultShift, all)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one, two := repeats(1), repeats(2)
	a, _ := json.Marshal(one)
	b, _ := json.Marshal(two)
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Error(diff)
	}
	digests := map[string]bool{}
	for k := range 5 {
		v, err := scenariofile.Variant(scenarios[0], k, topology.DefaultShift)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := inMemory(t).Run(t.Context(), v, func(engine.Advance) {}, engine.Want{})
		if err != nil {
			t.Fatal(err)
		}
		if got := one.Schemes[0].Runs[k].Digest; got != alone.Digest {
			t.Errorf("variant %d: %s among others, %s alone", k, got, alone.Digest)
		}
		digests[alone.Digest] = true
	}
	if len(digests) != 5 {
		t.Errorf("5 variants have %d digests", len(digests))
	}
}

// The manifest's commands repeat the variants, all of them and each by itself.
func TestManifestRepeatsTheVariants(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "repeatable.yaml")
	if err := os.WriteFile(file, []byte(repeatable), 0o600); err != nil {
		t.Fatal(err)
	}
	results := func(out string, args ...string) (r measure.Results) {
		c := runCommand()
		c.SetArgs(append(args, "--output", out, "--json"))
		c.SetContext(t.Context())
		c.SetOut(io.Discard)
		if err := c.Execute(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(out, "results.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := filepath.Join(dir, "first")
	all := results(first, file, "--repeat", "4", "--shift", "50us", "--scheme", "dcqcn", "--seed", "9")
	if all.Bus != "memory" {
		t.Errorf("the variants ran on bus %s", all.Bus)
	}
	again := results(filepath.Join(dir, "again"), filepath.Join(first, "scenario.yaml"), "--repeat", "4", "--shift", "50us", "--scheme", "dcqcn")
	if diff := cmp.Diff(all.Repeats, again.Repeats, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Runs" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	third := results(filepath.Join(dir, "third"), filepath.Join(first, "scenario.yaml"), "--variant", "3", "--shift", "50us", "--scheme", "dcqcn", "--bus", "memory")
	f, err := readFolders([]string{first})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := third.Runs[0].Digest, f[0].Results.Repeats.Schemes[0].Runs[3].Digest; got != want || third.Seed != all.Repeats.Variants[3].Seed {
		t.Errorf("variant 3 alone: %s with seed %d, among the others %s with seed %d", got, third.Seed, want, all.Repeats.Variants[3].Seed)
	}
}
