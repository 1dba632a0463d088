package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Files in a run's folder.
const (
	resultsFile  = "results.json"
	seriesFile   = "series.json"
	scenarioFile = "scenario.yaml"
	manifestFile = "manifest.json"
	repeatsFile  = "repeats.json" // only with variants
)

// Folder is the output of `rackfab run`: one scenario under each of several schemes.
type Folder struct {
	Dir      string
	Scenario *topology.Scenario
	Results  *measure.Results // each run with its series
	Manifest Manifest
}

// Manifest is the content of manifest.json. Together with scenario.yaml beside it, it
// reproduces the run.
type Manifest struct {
	Scenario string            `json:"scenario"` // name of the scenario file in the same folder
	Seed     uint64            `json:"seed"`
	Schemes  []string          `json:"schemes"`
	Digests  map[string]string `json:"digests"` // by scheme
	Rackfab  string            `json:"rackfab"` // version
	Go       string            `json:"go"`      // version
	Again    string            `json:"again"`   // the command that repeats the run
	// Variant is the command that runs one variant alone, "" without variants; K is its
	// index.
	Variant string `json:"variant,omitempty"`
}

// New returns the folder of a run that has just ended. version is rackfab's version.
func New(dir string, s *topology.Scenario, r *measure.Results, version string) *Folder {
	m := Manifest{Scenario: scenarioFile, Seed: r.Seed, Digests: map[string]string{}, Rackfab: version, Go: runtime.Version()}
	for _, run := range r.Runs {
		m.Schemes = append(m.Schemes, run.Scheme)
		m.Digests[run.Scheme] = run.Digest
	}
	m.Again = fmt.Sprintf("rackfab run %s --bus %s --scheme %s", filepath.Join(dir, scenarioFile), r.Bus, strings.Join(m.Schemes, ","))
	if r.Repeats != nil {
		m.Variant = fmt.Sprintf("%s --shift %s --variant K", m.Again, r.Repeats.Shift)
		m.Again += fmt.Sprintf(" --shift %s --repeat %d", r.Repeats.Shift, len(r.Repeats.Variants))
	}
	return &Folder{dir, s, r, m}
}

// Write writes results, series, scenario and manifest to the folder.
func (f *Folder) Write() error {
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return err
	}
	text, err := scenariofile.Marshal(f.Scenario)
	if err != nil {
		return err
	}
	if err := disk.Replace(filepath.Join(f.Dir, scenarioFile), disk.Public, disk.Text(text)); err != nil {
		return err
	}
	series := map[string]*measure.RunSeries{}
	for _, run := range f.Results.Runs {
		series[run.Scheme] = run.Series
	}
	var repeats error
	if f.Results.Repeats != nil {
		all := map[string][]*measure.Run{}
		for _, one := range f.Results.Repeats.Schemes {
			all[one.Scheme] = one.Runs
		}
		repeats = f.writeJSON(repeatsFile, all, "")
	}
	return errors.Join(
		repeats,
		f.writeJSON(resultsFile, f.Results, "  "),
		f.writeJSON(seriesFile, series, ""),
		f.writeJSON(manifestFile, f.Manifest, "  "))
}

func (f *Folder) writeJSON(name string, v any, indent string) error {
	return disk.Replace(filepath.Join(f.Dir, name), disk.Public, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false) // links are named x->y
		e.SetIndent("", indent)
		return e.Encode(v)
	})
}

// Read reads the folder of a run. Errors name the file and the fault.
func Read(dir string) (*Folder, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such folder", dir)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s: not a folder", dir)
	}
	f := &Folder{Dir: dir, Results: &measure.Results{}}
	if err := f.readJSON(resultsFile, f.Results); err != nil {
		return nil, err
	}
	if f.Results.Schema != measure.Schema {
		return nil, f.fault(resultsFile, "schema is %q, this version reads %q", f.Results.Schema, measure.Schema)
	}
	if len(f.Results.Runs) == 0 {
		return nil, f.fault(resultsFile, "holds no run")
	}
	if err := f.readJSON(manifestFile, &f.Manifest); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, scenarioFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, f.missing(scenarioFile, err)
	}
	if f.Scenario, err = scenariofile.Parse(path, text); err != nil {
		return nil, err
	}
	return f, errors.Join(f.readSeries(), f.readRepeats())
}

// fault returns an error in a file of the folder.
func (f *Folder) fault(file, format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{filepath.Join(f.Dir, file)}, args...)...)
}

// readRepeats attaches the runs of the variants, if any, to each scheme.
func (f *Folder) readRepeats() error {
	r := f.Results.Repeats
	if r == nil {
		return nil
	}
	all := map[string][]*measure.Run{}
	if err := f.readJSON(repeatsFile, &all); err != nil {
		return err
	}
	for i := range r.Schemes {
		one := &r.Schemes[i]
		if one.Runs = all[one.Scheme]; len(one.Runs) != len(r.Variants) {
			return f.fault(repeatsFile, "%d runs of scheme %q, by %s there are %d variants", len(one.Runs), one.Scheme, resultsFile, len(r.Variants))
		}
	}
	if len(r.Schemes) != len(f.Results.Runs) {
		return f.fault(resultsFile, "repeats of %d schemes for runs of %d", len(r.Schemes), len(f.Results.Runs))
	}
	return nil
}

// longFlows returns the names of the flows that are not part of a burst.
func (f *Folder) longFlows() (names []string) {
	for _, flow := range f.Scenario.Flows {
		if flow.Burst < 0 {
			names = append(names, flow.Name)
		}
	}
	return names
}

// readSeries attaches the series to each run.
func (f *Folder) readSeries() error {
	series := map[string]*measure.RunSeries{}
	if err := f.readJSON(seriesFile, &series); err != nil {
		return err
	}
	for _, run := range f.Results.Runs {
		if run.Series = series[run.Scheme]; run.Series == nil {
			return f.fault(seriesFile, "no series of scheme %q", run.Scheme)
		}
		if err := f.check(run); err != nil {
			return err
		}
	}
	return nil
}

// check checks a run against the scenario in the folder.
func (f *Folder) check(run *measure.Run) error {
	for _, c := range []struct {
		file, key  string
		have, want int64
	}{
		{resultsFile, "fabric_time_ps", int64(run.FabricTime), int64(f.Scenario.Duration)},
		{resultsFile, "number of flows", int64(len(run.Flows)), int64(len(f.longFlows()))},
		{seriesFile, "bin_ps", int64(run.Series.Bin), int64(f.Scenario.Bin)},
	} {
		if c.have != c.want {
			return f.fault(c.file, "%s: %s is %d, by %s it is %d", run.Scheme, c.key, c.have, scenarioFile, c.want)
		}
	}
	return nil
}

// readJSON reads a file that contains exactly one value.
func (f *Folder) readJSON(name string, v any) error {
	r, err := os.Open(filepath.Join(f.Dir, name))
	if err != nil {
		return f.missing(name, err)
	}
	defer r.Close()
	d := json.NewDecoder(r)
	if err := d.Decode(v); err != nil {
		return f.fault(name, "%w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return f.fault(name, "more than one value")
	}
	return nil
}

func (f *Folder) missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: not the folder of a run: it has no %s", f.Dir, name)
	}
	return err
}

// run returns the run under a scheme, or nil if there is none.
func (f *Folder) run(scheme string) *measure.Run {
	i := slices.IndexFunc(f.Results.Runs, func(r *measure.Run) bool { return r.Scheme == scheme })
	if i < 0 {
		return nil
	}
	return f.Results.Runs[i]
}
