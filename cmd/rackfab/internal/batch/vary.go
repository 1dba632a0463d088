package batch

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
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
	Repeats  *measure.Repeats `json:"repeats,omitempty"`
	scenario *topology.Scenario
}

// varied is the content of variants.json.
type varied struct {
	Schema   string     `json:"schema"`
	Scenario string     `json:"scenario"`
	Seed     uint64     `json:"seed"`
	Bus      string     `json:"bus"`
	Key      string     `json:"key"` // of a setting
	Variants []*variant `json:"variants"`
}

const variedSchema = "rackfab/variants/v1"

// runVaried runs a scenario once per value of its varied key and per scheme, and
// compares the values in one table. Each value has its own folder below the output
// folder.
func runVaried(c *cobra.Command, name string, base *topology.Scenario, f runFlags) error {
	data, err := load.File(name)
	if err != nil {
		return err
	}
	v := &varied{Schema: variedSchema, Scenario: base.Name, Bus: f.Bus, Key: base.Vary.Key}
	var all []*topology.Scenario
	for _, value := range base.Vary.Values {
		s, err := scenariofile.ParseWith(name, data, []topology.Setting{{Key: v.Key, Value: value}})
		if err != nil {
			return err
		}
		s.Vary = topology.Vary{} // each variant is a scenario by itself
		scenarios, err := prepare(c, s, f)
		if err != nil {
			return err
		}
		v.Seed = scenarios[0].Seed
		v.Variants = append(v.Variants, &variant{Value: value, scenario: scenarios[0]})
		all = append(all, scenarios...)
	}
	if err := load.Warn(c.ErrOrStderr(), all...); err != nil {
		return err
	}
	if err := v.run(c.Context(), all, f); err != nil {
		return err
	}
	if err := v.finish(c.OutOrStdout(), f.out, f.json); err != nil {
		return err
	}
	return f.tell(c)
}

// finish prints the outcome and writes the folder. It prints first, so that a full disk
// costs the folder but not the figures.
func (v *varied) finish(w io.Writer, dir string, asJSON bool) error {
	if !asJSON {
		v.print(w)
	} else if err := cli.WriteJSON(w, v); err != nil {
		return err
	}
	if err := v.write(dir); err != nil || asJSON {
		return err
	}
	_, err := fmt.Fprintf(w, "\none folder per value, and variants.json: %s\nreport: %s\n", dir, filepath.Join(dir, report.PageName))
	return err
}

// run runs the scenarios of all variants.
func (v *varied) run(ctx context.Context, all []*topology.Scenario, f runFlags) error {
	e, err := engine.New(ctx, all[0], f.Flags)
	if err != nil {
		return err
	}
	defer e.Close()
	runs, repeated, err := runRepeated(ctx, e, all, f.repeat)
	if err != nil {
		return err
	}
	each := len(runs) / len(v.Variants)
	for i, one := range v.Variants {
		one.Runs = runs[i*each : (i+1)*each]
		if repeated == nil {
			continue
		}
		if one.Repeats, err = measure.NewRepeats(one.scenario, f.repeat.shift, repeated[i*each:(i+1)*each]); err != nil {
			return err
		}
	}
	return nil
}

// write writes a folder per variant, from which the variant can be repeated,
// variants.json, and a report with the variants side by side.
func (v *varied) write(dir string) error {
	var folders []*report.Folder
	for _, one := range v.Variants {
		r := &measure.Results{Schema: measure.Schema, Scenario: v.Scenario, Seed: v.Seed, Bus: v.Bus, Runs: one.Runs, Repeats: one.Repeats}
		f := report.New(filepath.Join(dir, folderName(one.Value)), one.scenario, r, cli.Version())
		if err := f.Write(); err != nil {
			return err
		}
		folders = append(folders, f)
	}
	if _, err := report.Write(dir, folders); err != nil {
		return err
	}
	return cli.CreateFile(filepath.Join(dir, "variants.json"), func(w io.Writer) error { return cli.WriteJSON(w, v) })
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

func (v *varied) print(w io.Writer) {
	var rows []report.Variant
	var names []string
	all, cost := &measure.Results{}, &measure.Repeats{}
	for _, one := range v.Variants {
		for i, run := range one.Runs {
			value := one.Value
			if len(one.Runs) > 1 {
				value += " " + run.Scheme
			}
			row := report.Variant{Value: value, Run: run}
			if one.Repeats != nil {
				row.Repeated = &one.Repeats.Schemes[i]
				cost.Schemes = append(cost.Schemes, one.Repeats.Schemes[i])
			}
			rows, names, all.Runs = append(rows, row), append(names, value), append(all.Runs, run)
		}
	}
	title := report.Title(&measure.Results{Scenario: v.Scenario, Seed: v.Seed, Bus: v.Bus, Repeats: v.Variants[0].Repeats})
	printTable(w, report.VariantsOf(title, v.Key, v.Variants[0].scenario, rows))
	_, _ = fmt.Fprintln(w)
	if cost.Schemes != nil {
		all.Repeats = cost
	}
	printCost(w, names, all)
}
