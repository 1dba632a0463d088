package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/report"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// variant is one value of the varied key, and its outcome.
type variant struct {
	Value string         `json:"value"`
	Runs  []*measure.Run `json:"runs"` // one per scheme
	// Repeats holds the results of --repeat for this value, if it was given.
	Repeats   *measure.Repeats     `json:"repeats,omitempty"`
	scenarios []*topology.Scenario // one per scheme
}

// varied is the content of variants.json. A scenario without a varied key has one variant,
// whose outcome is a results.json instead.
type varied struct {
	Schema   string     `json:"schema"`
	Scenario string     `json:"scenario"`
	Seed     uint64     `json:"seed"`
	Bus      string     `json:"bus"`
	Key      string     `json:"key"` // of a setting
	Variants []*variant `json:"variants"`

	cores, workers int // of measure.Results

	missing []string // schemes that have not finished, with the value of a varied key
	failure error    // why, if some have
}

const variedSchema = "rackfab/variants/v1"

// vary returns the scenarios to run, one per value of the varied key and per scheme, with
// the flags applied. name and data are the file of base.
func vary(c *cobra.Command, name string, data []byte, base *topology.Scenario, f runFlags) (*varied, error) {
	v := &varied{Schema: variedSchema, Scenario: base.Name, Bus: f.Bus, Key: base.Vary.Key}
	add := func(value string, s *topology.Scenario) error {
		scenarios, err := prepare(c, s, f)
		if err == nil {
			v.Seed = scenarios[0].Seed
			v.Variants = append(v.Variants, &variant{Value: value, scenarios: scenarios})
		}
		return err
	}
	if v.Key == "" {
		return v, add("", base)
	}
	for _, value := range base.Vary.Values {
		s, err := scenariofile.ParseWith(name, data, []topology.Setting{{Key: v.Key, Value: value}})
		if err != nil {
			return nil, err
		}
		s.Vary = topology.Vary{} // each variant is a scenario by itself
		if err := add(value, s); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// execute runs the scenarios of all variants.
func (v *varied) execute(ctx context.Context, warnings io.Writer, f runFlags) error {
	var all []*topology.Scenario
	for _, one := range v.Variants {
		all = append(all, one.scenarios...)
	}
	if err := load.Warn(warnings, all...); err != nil {
		return err
	}
	e, err := engine.New(ctx, all[0], f.Flags)
	if err != nil {
		return err
	}
	defer e.Close()
	switch v.workers = e.Workers(); {
	case v.workers > 0:
		v.cores = e.Lanes() * max(1, f.Cores)
	case v.Bus == engine.Memory:
		v.cores = runtime.GOMAXPROCS(0)
	}
	runs, failure := runRepeated(ctx, e, all, f.repeat)
	if len(runs) == 0 {
		return failure
	}
	return cmp.Or(v.keep(runs, f.repeat), v.unfinished(failure))
}

// keep keeps the runs of the schemes that have finished, with all repetitions.
func (v *varied) keep(runs [][]*measure.Run, f repeatFlags) (err error) {
	var kept []*variant
	for _, one := range v.Variants {
		var done []*topology.Scenario
		var of [][]*measure.Run
		for i, s := range one.scenarios {
			if slices.Contains(runs[i], nil) {
				v.missing = append(v.missing, strings.TrimSpace(one.Value+" "+s.Scheme))
				continue
			}
			done, of = append(done, s), append(of, runs[i])
			one.Runs = append(one.Runs, runs[i][0])
		}
		runs = runs[len(one.scenarios):]
		if one.scenarios = done; len(done) == 0 {
			continue
		}
		if kept = append(kept, one); f.n == 1 {
			continue
		}
		if one.Repeats, err = measure.NewRepeats(done[0], f.shift, of); err != nil {
			return err
		}
	}
	v.Variants = kept
	return nil
}

// unfinished returns the error of a run that failed or was interrupted, with what did not finish.
func (v *varied) unfinished(failure error) error {
	if failure == nil || len(v.Variants) == 0 {
		return failure
	}
	v.failure = cli.SignalError{Err: fmt.Errorf("not finished, and not in the results: %s", strings.Join(v.missing, ", "))}
	if !errors.Is(failure, context.Canceled) {
		v.failure = fmt.Errorf("%w\n%w", failure, v.failure)
	}
	return nil
}

// results returns the content of results.json for a variant.
func (v *varied) results(of *variant) *measure.Results {
	r := &measure.Results{
		Schema: measure.Schema, Scenario: v.Scenario, Seed: v.Seed, Bus: v.Bus, Cores: v.cores, Workers: v.workers, Runs: of.Runs, Repeats: of.Repeats,
	}
	for _, run := range of.Runs {
		r.Workers = max(r.Workers, run.Workers)
	}
	return r
}

// finish writes the folder and prints the outcome, also if the folder cannot be written.
func (v *varied) finish(w io.Writer, f runFlags) error {
	folders, err := v.write(f.out)
	if f.json {
		return errors.Join(err, cli.WriteJSON(w, v.content()))
	}
	if v.print(w, f.width); err != nil {
		return err
	}
	what := "one folder per value, and variants.json"
	if v.Key == "" {
		what = "results, series and manifest"
		if again := folders[0].Manifest.Variant; again != "" {
			_, _ = fmt.Fprintf(w, "variant K alone: %s\n", again) // the next write reports the error
		}
	}
	_, err = fmt.Fprintf(w, "\n%s: %s\nreport: %s\n", what, f.out, filepath.Join(f.out, report.PageName))
	return err
}

// content returns the value of the JSON file.
func (v *varied) content() any {
	if v.Key == "" {
		return v.results(v.Variants[0])
	}
	return v
}

// write writes a folder per variant, from which the variant can be repeated,
// variants.json, and a report with the variants side by side.
func (v *varied) write(dir string) ([]*report.Folder, error) {
	var folders []*report.Folder
	for _, one := range v.Variants {
		own := dir
		if v.Key != "" {
			folder, err := disk.NewFolder(filepath.Join(dir, folderName(one.Value))) // values may differ in other characters alone
			if err != nil {
				return nil, err
			}
			defer func() { _ = folder.Release() }() // as in run
			own = folder.Path
		}
		f := report.New(own, one.scenarios[0], v.results(one), cli.Version())
		if err := f.Write(); err != nil {
			return nil, err
		}
		folders = append(folders, f)
	}
	if _, err := report.Write(dir, folders); err != nil || v.Key == "" {
		return folders, err
	}
	return folders, disk.Replace(filepath.Join(dir, "variants.json"), disk.Public, func(w io.Writer) error { return cli.WriteJSON(w, v) })
}

// folderName replaces all but letters, digits, dots and dashes of a value with
// underscores.
func folderName(value string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return '_'
	}, value)
}

// print writes one table of all variants that fits the width, a sentence on each, and what they
// cost.
func (v *varied) print(w io.Writer, width int) {
	first := v.results(v.Variants[0])
	var rows []report.Variant
	var repeated []measure.Repeated
	for _, one := range v.Variants {
		for i, row := range report.Variants(v.results(one)) {
			switch {
			case v.Key != "" && len(one.Runs) > 1:
				row.Value = one.Value + " " + row.Value
			case v.Key != "":
				row.Value = one.Value
			}
			rows = append(rows, row)
			if one.Repeats != nil {
				repeated = append(repeated, one.Repeats.Schemes[i])
			}
		}
	}
	s := v.Variants[0].scenarios[0]
	t := report.BriefOf(s, first, width)
	if v.Key != "" {
		t = report.BriefVariantsOf(report.Title(first), v.Key, s, rows, width)
	}
	printTable(w, t)
	printFindings(w, s, rows)
	_, _ = fmt.Fprintln(w)
	if repeated != nil {
		printRepeated(w, repeated)
	} else {
		printSpeed(w, rows)
	}
}
