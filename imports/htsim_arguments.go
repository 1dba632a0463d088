package imports

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// htsimUnused are options of the driver that change nothing in the scenario, with their numbers of values.
var htsimUnused = map[string]int{
	"o": 1, "log": 1, "logtime": 1, "logtime_us": 1, "debug": 0, "conn_reuse": 0, "tm": 1, "topo": 1,
	"force_disable_oversubscribed_cc": 0,
}

// htsimPlain are options of the driver whose only value that is imported is its default.
var htsimPlain = map[string][]string{
	"strat": {"ecmp_host"}, "queue_type": {"composite"}, "sender_cc_algo": {"nscc"}, "host_queue_type": {"fair_prio", "prio", "swift"},
	"planes": {"1"},
}

// htsimRun is a command line of the driver, with the lines of its words.
type htsimRun struct {
	matrix string // "" if the command line stands alone
	words  []string
	lines  []int
}

// arguments reads the options of a file with a command line of the driver, or of one of the runs of a file
// of validation: the nth run in the file, from 1, or the only one of the matrix if n is 0.
func (o *HTSimOptions) arguments(f *File, matrix string, n int, to *faults) (notes []string) {
	runs := htsimRuns(f.Data)
	fits := runs
	if n == 0 && runs[0].matrix != "" {
		fits = slices.DeleteFunc(slices.Clone(runs), func(r htsimRun) bool { return path.Base(r.matrix) != path.Base(matrix) })
	}
	switch {
	case n > len(runs):
		to.fault(f.Name, 1, "has %d runs, want one of them as --experiment", len(runs))
		return nil
	case n > 0:
		fits = runs[n-1 : n]
	case len(fits) != 1:
		to.fault(f.Name, 1, "has %d runs of %s among %d, want --experiment N with the number of one, from 1", len(fits), path.Base(matrix), len(runs))
		return nil
	}
	return o.read(f.Name, &fits[0], to)
}

// htsimRuns returns the runs of a file, at least one.
func htsimRuns(data []byte) []htsimRun {
	runs := []htsimRun{{}}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		words := strings.Fields(string(text))
		switch {
		case len(words) == 0 || words[0][0] == '#':
			continue
		case words[0] == "!Param":
			words = words[1:]
		case words[0][0] == '!':
			continue
		case words[0][0] != '-' && len(words) == 1: // the matrix of a run
			if runs[0].matrix != "" {
				runs = append(runs, htsimRun{})
			}
			runs[len(runs)-1].matrix = words[0]
			continue
		}
		r := &runs[len(runs)-1]
		for _, w := range words {
			r.words, r.lines = append(r.words, w), append(r.lines, line)
		}
	}
	return runs
}

// read reads the options of a run.
func (o *HTSimOptions) read(file string, r *htsimRun, to *faults) (notes []string) {
	words := r.words
	if len(words) > 0 && words[0][0] != '-' { // the program
		words = words[1:]
	}
	for len(words) > 0 {
		line, name := r.lines[len(r.words)-len(words)], strings.TrimPrefix(words[0], "-")
		rest := words[1:]
		values, known := htsimValues(name)
		switch {
		case name == words[0] || !known:
			to.fault(file, line, "unknown option %q, want one of htsim's UEC driver that the import reads", words[0])
			return notes
		case len(rest) < values:
			to.fault(file, line, "%s without a value", words[0])
			return notes
		}
		if note := o.set(name, rest[:values]); note != nil {
			to.fault(file, line, "%s: %v", words[0], note)
		}
		if values, plain := htsimPlain[name]; plain && !slices.Contains(values, rest[0]) {
			notes = append(notes, fmt.Sprintf("%s:%d: ignored: %s %s, the import has %s", file, line, words[0], rest[0], values[0]))
		}
		words = rest[values:]
	}
	return notes
}

// htsimValues returns the number of values of an option, and whether it is known.
func htsimValues(name string) (values int, known bool) {
	if name == "ecn" {
		return 2, true
	}
	if values, known = htsimUnused[name]; known {
		return values, true
	}
	if _, known = htsimPlain[name]; known {
		return 1, true
	}
	i := slices.IndexFunc(HTSimOptionTable, func(opt HTSimOption) bool { return opt.Name == name })
	switch {
	case i < 0:
		return 0, false
	case HTSimOptionTable[i].Kind == "":
		return 0, true
	}
	return 1, true
}

// set sets an option with its values. Options that are not of the table set nothing.
func (o *HTSimOptions) set(name string, values []string) error {
	if name == "ecn" {
		if err := o.Set(optLow, values[0]); err != nil {
			return err
		}
		return o.Set(optHigh, values[1])
	}
	if !slices.ContainsFunc(HTSimOptionTable, func(opt HTSimOption) bool { return opt.Name == name }) {
		return nil
	}
	return o.Set(name, strings.Join(values, ""))
}
