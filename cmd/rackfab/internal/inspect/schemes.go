package inspect

import (
	"errors"
	"slices"

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
			tables := schemeTables(schemes)
			if len(args) == 0 {
				choices := paramTable("model choice", "implementations")
				addParams(choices, "", scenariofile.Choices())
				tables = append(tables, choices)
			}
			return table.WriteAll(c.OutOrStdout(), tables...)
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

// schemeTables returns a table of schemes, and one of their parameters, named as
// `rackfab sweep --set` names them.
func schemeTables(schemes []schemeInfo) []*table.Table {
	list := table.New(1, "scheme", "description", "marking", "notification")
	params := paramTable("parameter", "source of the default")
	for i, s := range schemes {
		list.Row(s.Name, s.Title, s.Marking, s.Notification)
		addParams(params, s.Name+".", s.Params)
		addParams(params, "switch.", s.Switch)
		if len(s.Params) > 0 && i < len(schemes)-1 {
			params.Rule()
		}
	}
	return []*table.Table{list, params}
}

// paramTable returns an empty table of parameters.
func paramTable(parameter, source string) *table.Table {
	const widest = 44 // width of a column of prose
	t := table.New(1, parameter, "default", "unit", "allowed", "description", source)
	t.Columns[4].Max, t.Columns[5].Max = widest, widest
	return t
}

// addParams adds a row per parameter. Its default is followed by the values of the
// presets, one per line.
func addParams(t *table.Table, prefix string, params []scenariofile.Param) {
	for _, p := range params {
		value := p.Default
		for _, other := range p.Presets {
			value += "\n" + other.Preset + ": " + other.Value
		}
		t.Row(prefix+p.Key, value, p.Unit, p.Range, p.Doc, p.Source)
	}
}
