package batch

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report"
)

// printTable writes a comparison of runs.
func printTable(w io.Writer, compared report.Table) {
	_ = compared.Layout().Write(w) // errors of standard output are ignored
}

// printSpeed writes the cost of the emulation, one line per run, labelled with its
// name.
func printSpeed(w io.Writer, names []string, runs []*measure.Run) {
	widest := 0
	for _, name := range names {
		widest = max(widest, utf8.RuneCountInString(name))
	}
	for i, run := range runs {
		_, _ = fmt.Fprintf(w, "%-*s %.3f ms of fabric time in %.2f s (%.2f s of CPU): %d frame-hops, %.2f M/s, %d envelopes\n",
			widest, names[i], run.FabricTime.Seconds()*1e3, run.Wall, run.CPU, run.FrameHops,
			float64(run.FrameHops)/run.Wall/1e6, run.Envelopes)
		if faults := measure.FaultsInWords(run.EnvelopeFaults); faults != "" {
			_, _ = fmt.Fprintf(w, "%-*s envelopes with a fault, none of which changed the run: %s\n", widest, names[i], faults)
		}
	}
}

// schemesOf returns the schemes of runs, as names of runs that differ only in their
// scheme.
func schemesOf(runs []*measure.Run) (names []string) {
	for _, run := range runs {
		names = append(names, run.Scheme)
	}
	return names
}
