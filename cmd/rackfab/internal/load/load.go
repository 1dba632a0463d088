// Package load reads scenarios, built-in ones and files, and prints their warnings.
package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/imports"
	"github.com/rackfab/rackfab/study"
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

// Stdin is the argument that denotes standard input.
const Stdin = "-"

// File returns the text of the built-in scenario or the file of that name, or of standard input,
// which can be read once, and its name in errors. Of a file of another simulator that makes a scenario by itself,
// it returns that scenario, and writes to notes what the file was taken for and what the scenario does not say.
func File(notes io.Writer, arg string) (name string, data []byte, err error) {
	if arg == Stdin {
		if data, err = atMost(os.Stdin, imports.MaxFile); err != nil {
			return "standard input", nil, fmt.Errorf("standard input: %w", err)
		}
		return imported(notes, "standard input", data)
	}
	data, unknown := Builtin(arg)
	if unknown == nil {
		return arg, data, nil
	}
	if data, err = ReadFile(arg); err == nil {
		return imported(notes, arg, data)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no file %s; %w", arg, unknown)
	}
	return arg, nil, err
}

// Builtin returns the text of a built-in scenario.
func Builtin(name string) ([]byte, error) {
	if data, ok := scenariofile.Builtin(name); ok {
		return data, nil
	}
	if study.Find(name) != nil {
		return nil, fmt.Errorf("%s is an experiment of several scenarios: `rackfab run %s` runs it", name, name)
	}
	if err := scenariofile.CheckNumbers(name); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("scenario %q is not built in, want one of %s", name, scenariofile.BuiltinList())
}

// ReadFile reads a file of at most imports.MaxFile bytes.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := atMost(f, imports.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// atMost reads a file, or a stream, of at most limit bytes, and text in the form of imports.Text. It reads nothing of a
// file that is larger.
func atMost(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("is a folder, want a file; a run's folder has its scenario in scenario.yaml")
	}
	tooLarge := fmt.Errorf("larger than %d bytes, the most that is read", limit)
	var b bytes.Buffer
	if info.Mode().IsRegular() {
		if info.Size() > limit {
			return nil, tooLarge
		}
		b.Grow(int(info.Size()) + bytes.MinRead) // so that the buffer need not grow
	}
	n, err := b.ReadFrom(io.LimitReader(f, limit+1))
	if n > limit {
		return nil, tooLarge
	}
	return imports.Text(b.Bytes()), err
}

// imported returns the scenario that a file makes, or the file itself if it is of no known kind.
func imported(notes io.Writer, name string, data []byte) (string, []byte, error) {
	what, made, err := imports.Recognise(imports.File{Name: name, Data: data})
	if what == "" || err != nil {
		return name, data, err
	}
	for _, note := range append([]string{name + ": imported as " + what}, made.Notes...) {
		if _, err := fmt.Fprintln(notes, note); err != nil {
			return name, nil, err
		}
	}
	return name, made.Scenario, nil
}

// Scenario reads and parses the scenario of that name. notes is that of File.
func Scenario(notes io.Writer, arg string) (*topology.Scenario, error) {
	name, data, err := File(notes, arg)
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
	s, err := Scenario(c.ErrOrStderr(), name)
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

// Schemes returns the schemes of the flag. Without it, they are the scenario's own list, or else
// the schemes of the PCN paper.
func Schemes(asked, compare []string) (names []string) {
	if len(asked) > 0 {
		return asked
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
	for _, scheme := range append([]string{s.Scheme}, Schemes(nil, s.Compare)...) {
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
