package inspect

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/report/table"
)

// schemeInfo is one scheme in the output of `rackfab schemes --json`.
type schemeInfo struct {
	Name         string               `json:"name"`
	Title        string               `json:"title"`
	Marking      cc.Marking           `json:"marking"`
	Notification cc.Notification      `json:"notification"`
	Params       []scenariofile.Param `json:"params"`
	Switch       []scenariofile.Param `json:"switch,omitempty"` // settings of every switch
	Choices      []scenariofile.Param `json:"choices"`          // of the model, the same for every scheme
}

func schemesCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "schemes [SCHEME...]",
		Short:   "Print the schemes and their parameters, with the source of each default",
		Example: "rackfab schemes pcn dcqcn",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			schemes, err := schemeInfos(args)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c.OutOrStdout(), schemes)
			}
			if err := printSchemes(c.OutOrStdout(), schemes); err != nil {
				return err
			}
			if err := printParams(c.OutOrStdout(), schemes); err != nil || len(args) > 0 {
				return err
			}
			return printChoices(c.OutOrStdout(), scenariofile.Choices())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of the tables")
	return c
}

// schemeInfos returns the named schemes, or all if names is empty.
func schemeInfos(names []string) (schemes []schemeInfo, err error) {
	for _, name := range names {
		_, unknown := cc.Find(name)
		err = errors.Join(err, unknown)
	}
	for _, s := range cc.Schemes {
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		schemes = append(schemes, schemeInfo{s.Name, s.Title, s.Marking, s.Notification, scenariofile.Params(s.Name), scenariofile.SwitchParams(s.Name), scenariofile.Choices()})
	}
	return schemes, err
}

func printSchemes(w io.Writer, schemes []schemeInfo) error {
	t := table.New(1, "scheme", "description", "marking", "notification")
	for _, s := range schemes {
		t.Row(s.Name, s.Title, s.Marking, s.Notification)
	}
	return t.Write(w)
}

// defaults returns the default of a parameter, followed by the values of the presets,
// one per line.
func defaults(p scenariofile.Param) string {
	lines := []string{p.Default}
	for _, other := range p.Presets {
		lines = append(lines, other.Preset+": "+other.Value)
	}
	return strings.Join(lines, "\n")
}

// paramTable returns an empty table of parameters.
func paramTable(parameter, source string) *table.Table {
	const widest = 44 // width of a column of prose
	t := table.New(1, parameter, "default", "unit", "allowed", "description", source)
	t.Columns[4].Max, t.Columns[5].Max = widest, widest
	return t
}

// printChoices writes one row per choice of the model.
func printChoices(w io.Writer, choices []scenariofile.Param) error {
	t := paramTable("model choice", "implementations")
	for _, p := range choices {
		t.Row(p.Key, p.Default, p.Unit, p.Range, p.Doc, p.Source)
	}
	_, _ = fmt.Fprintln(w) // the table reports the next error
	return t.Write(w)
}

// printParams writes one row per parameter, named as `rackfab sweep --set` names it.
func printParams(w io.Writer, schemes []schemeInfo) error {
	t := paramTable("parameter", "source of the default")
	for i, s := range schemes {
		for _, p := range s.Params {
			t.Row(s.Name+"."+p.Key, defaults(p), p.Unit, p.Range, p.Doc, p.Source)
		}
		for _, p := range s.Switch {
			t.Row("switch."+p.Key, p.Default, p.Unit, p.Range, p.Doc, p.Source)
		}
		if len(s.Params) > 0 && i < len(schemes)-1 {
			t.Rule()
		}
	}
	if t.Len() == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(w) // the table reports the next error
	return t.Write(w)
}
