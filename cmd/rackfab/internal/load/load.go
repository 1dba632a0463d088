// Package load reads scenarios, built-in ones and files, and prints their warnings.
package load

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Default is the scenario of the PCN paper.
const Default = "pcn-16to2"

// Name returns the scenario argument, or the default scenario if there is none.
func Name(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return Default
}

// File returns the text of the built-in scenario or the file of that name.
func File(name string) ([]byte, error) {
	if data, ok := scenariofile.Builtin(name); ok {
		return data, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("scenario %q is neither a file nor one of %s", name, strings.Join(scenariofile.Builtins(), ", "))
	}
	return data, nil
}

// Scenario parses the built-in scenario or the file of that name.
func Scenario(name string) (*topology.Scenario, error) {
	data, err := File(name)
	if err != nil {
		return nil, err
	}
	return scenariofile.Parse(name, data)
}

// Overrides are the flags that override settings of a scenario.
type Overrides struct {
	scheme string
	seed   uint64
}

// AddFlags adds the flags. of qualifies the run in their descriptions; it may be empty.
func (o *Overrides) AddFlags(c *cobra.Command, of string) {
	c.Flags().StringVar(&o.scheme, "scheme", "", "congestion control of every flow"+of+" (default: the scenario's)")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "seed of all random numbers"+of+" (default: the scenario's)")
}

// Given reports whether any of the flags was given.
func (o *Overrides) Given(c *cobra.Command) bool { return o.scheme != "" || c.Flags().Changed("seed") }

// Load parses a scenario or a journal and applies the flags.
func (o *Overrides) Load(c *cobra.Command, name string) (*topology.Scenario, error) {
	s, err := Scenario(name)
	if err != nil {
		return nil, err
	}
	changed := scenariofile.Overrides{Scheme: o.scheme}
	if c.Flags().Changed("seed") {
		changed.Seed = &o.seed
	}
	if s, err = scenariofile.Override(s, changed); err != nil {
		return nil, fmt.Errorf("with the flags given: %w", err)
	}
	return s, nil
}

// PaperSchemes are the schemes that the PCN paper compares (§3.1, §7).
var PaperSchemes = []string{"pfc", "qcn", "dcqcn", "timely", "pcn"}

// Schemes splits the flag. If it is empty, the result is the scenario's own list, or else
// the schemes of the PCN paper.
func Schemes(list string, compare []string) (names []string) {
	if list != "" {
		return strings.Split(list, ",")
	}
	if len(compare) > 0 {
		return compare
	}
	for _, s := range cc.Schemes {
		if slices.Contains(PaperSchemes, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// UnderSchemes returns the scenario under its own scheme, and under each scheme that
// `rackfab run` selects by default.
func UnderSchemes(s *topology.Scenario) (list []*topology.Scenario) {
	for _, scheme := range append([]string{s.Scheme}, Schemes("", s.Compare)...) {
		list = append(list, scenariofile.Under(s, scheme))
	}
	return list
}

// Warn writes the distinct warnings of scenarios. Warnings do not fail the command, and
// go to standard error so that they do not mix with JSON.
func Warn(w io.Writer, scenarios ...*topology.Scenario) error {
	var list []scenariofile.Fault
	for _, s := range scenarios {
		list = append(list, scenariofile.Warnings(s)...)
	}
	return WriteWarnings(w, list)
}

// WriteWarnings writes the distinct warnings of a list.
func WriteWarnings(w io.Writer, list []scenariofile.Fault) error {
	for i, f := range list {
		if slices.Contains(list[:i], f) {
			continue
		}
		if _, err := fmt.Fprintf(w, "rackfab: warning: %s: %s\n", f.Key, f.What); err != nil {
			return err
		}
	}
	return nil
}
