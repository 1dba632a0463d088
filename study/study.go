// Package study has the experiments that compare the claims of a document with the
// behaviour of the fabric. An experiment runs scenarios on a Bench and returns tables,
// figures and files. The package does not know where a scenario runs or who asked for
// the experiment.
package study

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// Experiment compares the claims of a document with runs.
type Experiment struct {
	Name string
	// FixedSchemes says why the experiment cannot run under a given scheme. If it is
	// empty, Name is also a scenario, which runs under any scheme.
	FixedSchemes string
	// Run runs the experiment with some settings, such as duration and seed, applied to
	// its scenarios.
	Run func(b Bench, set []topology.Setting) (*Result, error)
}

// Experiments lists the experiments.
var Experiments = []Experiment{
	{Name: "fig5", FixedSchemes: "fig5 is an experiment with fixed rates; it has no scheme", Run: fig5},
	{Name: "ceth-reaction", Run: cethReaction},
	{Name: "rttx-example", Run: rttxExample},
	{
		Name: "sharing", Run: sharing,
		FixedSchemes: "sharing compares all schemes; run sharing-N-M under a scheme",
	},
	{
		Name: "rttx-compare", Run: rttxCompare,
		FixedSchemes: "rttx-compare has senders of its own; run rttx-16to2 or rttx-wan under a scheme",
	},
}

// Names returns the names of the experiments, separated by commas.
func Names() string {
	var names []string
	for _, e := range Experiments {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

// Find returns the experiment of that name, or nil if there is none.
func Find(name string) *Experiment {
	for i := range Experiments {
		if Experiments[i].Name == name {
			return &Experiments[i]
		}
	}
	return nil
}

// Bench runs the scenarios of an experiment.
type Bench interface {
	// Bus returns the name of the bus.
	Bus() string
	// Run runs a scenario from start to end and passes the notes of some kinds to hear.
	// The notes of one node are in time order; those of different nodes are not
	// ordered.
	Run(s *topology.Scenario, kinds []fabric.Kind, hear func(node int, notes []fabric.Note)) (*measure.Run, error)
	// Sweep runs the unfinished cells of valid grids, and returns a sweep for each.
	Sweep(grids ...sweep.Grid) ([]*sweep.Sweep, error)
}

// Result is the outcome of an experiment.
type Result struct {
	Table *table.Table
	Claim string // a sentence below the table, or ""
	Runs  []*measure.Run
	JSON  sweep.File   // all of it
	Files []sweep.File // the others
}

// addScenario adds the scenario to the files.
func (r *Result) addScenario(s *topology.Scenario) error {
	text, err := scenariofile.Marshal(s)
	r.Files = append(r.Files, sweep.File{Name: "scenario.yaml", Write: func(w io.Writer) error { _, err := w.Write(text); return err }})
	return err
}

// addFigure adds a figure to the files.
func (r *Result) addFigure(name string, f *chart.Figure) {
	r.Files = append(r.Files, sweep.FigureFiles(name, f)...)
}

// builtin returns the built-in scenario with the settings applied.
func builtin(name string, set []topology.Setting) (*topology.Scenario, error) {
	text, ok := scenariofile.Builtin(name)
	if !ok {
		return nil, fmt.Errorf("study: no scenario %s", name)
	}
	return scenariofile.ParseWith(name, text, set)
}

// nodeNote is a note and its node.
type nodeNote struct {
	node int
	fabric.Note
}

// inOrder sorts notes by instant, and notes of the same instant by node.
func inOrder(all []nodeNote) {
	slices.SortStableFunc(all, func(a, b nodeNote) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.node, b.node)) })
}

func micros(t unit.Time) float64 { return float64(t) / float64(unit.Microsecond) }

func gigabits(r unit.Rate) float64 { return float64(r) / float64(unit.GigabitPerSec) }

// decimals formats a number with two decimals.
func decimals(v float64) string { return fmt.Sprintf("%.2f", v) }
