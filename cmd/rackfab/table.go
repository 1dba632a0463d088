package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
)

// printTable writes one row per scheme, then the speed of each run.
func printTable(w io.Writer, r *measure.Results) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.SetTitle(fmt.Sprintf("%s, seed %d, bus %s", r.Scenario, r.Seed, r.Bus))
	header := table.Row{"scheme", "tree ms", "loss ms"}
	for _, f := range r.Runs[0].Flows {
		header = append(header, f.Name+" in burst Gbit/s", f.Name+" mean Gbit/s")
	}
	t.AppendHeader(append(header, "burst done", "fct p50 ms", "fct p99 ms", "drops", "digest"))
	for _, run := range r.Runs {
		row := table.Row{run.Scheme, milli(run.Tree), milli(run.Loss)}
		for _, f := range run.Flows {
			row = append(row, giga(f.BurstGoodput), giga(f.Goodput))
		}
		b := run.Burst
		t.AppendRow(append(row, fmt.Sprintf("%d/%d", b.Completed, b.Flows), milli(b.P50), milli(b.P99), run.Drops, run.Digest))
	}
	t.Render()
	printPauses(w, r)
	printSpeed(w, r)
}

// printPauses writes one row per link on which a scheme paused.
func printPauses(w io.Writer, r *measure.Results) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.SetTitle("PAUSE: frames sent, and time held")
	t.AppendHeader(table.Row{"scheme", "links"})
	for _, run := range r.Runs {
		t.AppendRow(table.Row{run.Scheme, pauseLine(run.Pauses)})
	}
	t.Render()
}

// pauseLine lists the pauses between the links, those to one device that fall
// under one range shortened to their sum.
func pauseLine(pauses []measure.Pause) string {
	if len(pauses) == 0 {
		return "none"
	}
	parts := make([]string, len(pauses))
	for i, p := range pauses {
		parts[i] = fmt.Sprintf("%s %d, %s ms", p.Link, p.XOFF, milli(p.Paused))
		if i%3 == 2 && i < len(pauses)-1 {
			parts[i] += "\n"
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), "\n; ", "\n")
}

// printSpeed writes what the emulation cost.
func printSpeed(w io.Writer, r *measure.Results) {
	for _, run := range r.Runs {
		_, _ = fmt.Fprintf(w, "%-6s %.3f ms of fabric time in %.2f s (%.2f s of CPU): %d frame-hops, %.2f M/s, %d envelopes\n",
			run.Scheme, run.FabricTime.Seconds()*1e3, run.Wall, run.CPU, run.FrameHops,
			float64(run.FrameHops)/run.Wall/1e6, run.Envelopes)
	}
}

func milli(t unit.Time) string { return fmt.Sprintf("%.2f", t.Seconds()*1e3) }

func giga(r unit.Rate) string { return fmt.Sprintf("%.2f", float64(r)/1e9) }
