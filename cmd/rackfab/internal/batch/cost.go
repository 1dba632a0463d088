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

// printSpeed writes the cost of the emulation, one line per run.
func printSpeed(w io.Writer, runs []report.Variant) {
	widest := 0
	for _, v := range runs {
		widest = max(widest, utf8.RuneCountInString(v.Value))
	}
	for _, v := range runs {
		run := v.Run
		_, _ = fmt.Fprintf(w, "%-*s %.3f ms of fabric time in %.2f s (%.2f s of CPU): %d frame-hops, %.2f M/s, %d envelopes\n",
			widest, v.Value, run.FabricTime.Seconds()*1e3, run.Wall, run.CPU, run.FrameHops,
			float64(run.FrameHops)/run.Wall/1e6, run.Envelopes)
		if faults := measure.FaultsInWords(run.EnvelopeFaults); faults != "" {
			_, _ = fmt.Fprintf(w, "%-*s envelopes with a fault, none of which changed the run: %s\n", widest, v.Value, faults)
		}
	}
}

// printRepeated writes the cost of the emulation of all repetitions in one line.
func printRepeated(w io.Writer, repeated []measure.Repeated) {
	cpu, hops, runs := 0.0, int64(0), 0
	for _, one := range repeated {
		for _, run := range one.Runs {
			cpu, hops, runs = cpu+run.CPU, hops+run.FrameHops, runs+1
		}
	}
	_, _ = fmt.Fprintf(w, "%d runs, %.1f s of CPU: %d frame-hops, %.2f M/s and core\n", runs, cpu, hops, float64(hops)/max(cpu, 1e-9)/1e6)
}
