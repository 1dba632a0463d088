package batch

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/sweep"
)

// Several grids print each warning once, and each has all its cells. Finished cells are not run again.
func TestGridsPrintEachWarningOnce(t *testing.T) {
	const text = `
name: rack
duration: 10us
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0: {timeout: 1us}, r0: }
switches: {s0: }
links: [{endpoints: ["h0, r0", s0]}]
flows: [{name: F0, from: h0, to: r0, size: endless}]
`
	var grids []sweep.Grid
	for _, seed := range []string{"1", "2"} {
		grids = append(grids, sweep.Grid{File: "rack.yaml", Data: []byte(text), Axes: []sweep.Axis{
			{Key: "seed", Values: []string{seed}}, {Key: "scheme", Values: []string{"pfc", "dcqcn"}},
		}})
	}
	dir, engines := t.TempDir(), 0
	for range 2 {
		var notes strings.Builder
		all, err := runGrids(t.Context(), &notes, grids, dir, func(s *topology.Scenario) (engine.Engine, error) {
			engines++
			return engine.New(t.Context(), s, engine.Flags{Bus: engine.Memory})
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(notes.String(), "h0.timeout"); n != 1 {
			t.Errorf("%d warnings of h0.timeout:\n%s", n, &notes)
		}
		for _, s := range all {
			if _, err := s.Outcome(1); err != nil {
				t.Error(err)
			}
		}
	}
	if engines != 2 {
		t.Errorf("%d engines, want one per grid of the first time", engines)
	}
}
