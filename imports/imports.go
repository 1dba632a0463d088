// Package imports turns files of other simulators into scenarios: topology.txt, flow.txt and
// config.txt of the HPCC simulator, connection matrices and topologies of htsim, traces in GOAL, execution
// traces of Chakra, and workloads and topologies of SimAI.
// It also turns captures of RoCEv2 into scenarios.
// Each format has its files. An importer reads bytes and returns the text of a scenario, with notes on
// all that the files say and the scenario does not.
package imports

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// MaxFile is the largest file that an importer accepts, in bytes.
const MaxFile = 256 << 20

// File is the content of a file. Name is used in faults and notes.
type File struct {
	Name string
	Data []byte
}

// Imported is a scenario made from files.
type Imported struct {
	Scenario []byte   // in YAML, accepted by scenariofile.Parse
	Notes    []string // one line each: what was ignored, or differs in the scenario
}

// maxFaults bounds the number of faults in an error.
const maxFaults = 100

// faults collects the faults of files, "file:line: what".
type faults struct {
	list []string
	more int
}

// fault adds a fault of a line.
func (f *faults) fault(file string, line int, format string, args ...any) {
	f.add(fmt.Sprintf("%s:%d: ", file, line) + fmt.Sprintf(format, args...))
}

// add adds a fault. Its text begins with the file.
func (f *faults) add(text string) {
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, text)
}

// integer parses an integer in a range. Otherwise it adds a fault and returns the least one.
func (f *faults) integer(file string, line int, what, text string, lo, hi int64) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < lo || n > hi {
		f.fault(file, line, "%s %q, want an integer from %d to %d", what, text, lo, hi)
		return lo, false
	}
	return n, true
}

// Error returns a line per fault.
func (f *faults) Error() string {
	if f.more > 0 {
		return fmt.Sprintf("%s\nand %d more", strings.Join(f.list, "\n"), f.more)
	}
	return strings.Join(f.list, "\n")
}

// err returns the faults as an error, or nil if there are none.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return f
}

// finished returns the scenario and its notes. It returns an error if the scenario is invalid.
func finished(text []byte, notes []string) (*Imported, error) {
	if _, err := parsed(text); err != nil {
		return nil, err
	}
	return &Imported{Scenario: text, Notes: notes}, nil
}

// parsed parses a scenario that an import has made.
func parsed(text []byte) (*topology.Scenario, error) {
	s, err := scenariofile.Parse("scenario", text)
	var found *scenariofile.Faults
	if errors.As(err, &found) {
		return nil, &invalidScenario{found}
	}
	return s, err
}

// invalidScenario are the faults of a scenario that an import has made. Nobody has its text, so that they name keys and
// no lines.
type invalidScenario struct{ found *scenariofile.Faults }

// Error returns a line per fault.
func (e *invalidScenario) Error() string {
	lines := []string{"the files make an invalid scenario:"}
	for _, f := range e.found.List {
		lines = append(lines, f.Key+": "+f.What)
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults with their lines.
func (e *invalidScenario) Unwrap() error { return e.found }

// have formats a count with its noun and the verb: "1 flow has", "2 flows have".
func have[N int | int64](n N, noun string) string {
	if n == 1 {
		return unit.Counted(n, noun) + " has"
	}
	return unit.Counted(n, noun) + " have"
}
