package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// manifest is manifest.json: with scenario.yaml beside it, it reproduces a run.
type manifest struct {
	Scenario string            `json:"scenario"` // the file beside this one
	Seed     uint64            `json:"seed"`
	Schemes  []string          `json:"schemes"`
	Digests  map[string]string `json:"digests"` // by scheme
	Rackfab  string            `json:"rackfab"`
	Go       string            `json:"go"`
	Again    string            `json:"again"` // the command that repeats the run
}

// writeFolder writes results.json, the series, the scenario and the manifest.
func writeFolder(dir string, s *topology.Scenario, r *measure.Results) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	m := manifest{
		Scenario: "scenario.yaml", Seed: r.Seed, Digests: map[string]string{},
		Rackfab: version(), Go: runtime.Version(),
		Again: "rackfab run " + filepath.Join(dir, "scenario.yaml") + " --bus " + r.Bus + " --scheme ",
	}
	series := map[string]*measure.RunSeries{}
	for i, run := range r.Runs {
		m.Schemes = append(m.Schemes, run.Scheme)
		m.Digests[run.Scheme] = run.Digest
		series[run.Scheme] = run.Series
		if i > 0 {
			m.Again += ","
		}
		m.Again += run.Scheme
	}
	text, err := topology.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), text, 0o644); err != nil {
		return err
	}
	for name, v := range map[string]any{"results.json": r, "series.json": series, "manifest.json": m} {
		if err := writeFile(filepath.Join(dir, name), v); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, v any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := writeJSON(f, v); err != nil {
		_ = f.Close() // the first fault counts
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
