package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// drawn holds the packet numbers in the document's figures, by scheme (¶112, ¶205,
// ¶206).
var drawn = map[string][]any{
	"cnp":  {"  figure 3", "", 5, 7, 10},
	"ceth": {"  figure 16", "", 4, 4, 8},
}

// reactionColumns are the columns of the packet table. Names end with their units.
var reactionColumns = []sweep.Column{
	{Name: "scheme", Kind: sweep.Text},
	{Name: "packet", Kind: sweep.Integer},
	{Name: "psn", Kind: sweep.Integer},
	{Name: "sent_us", Kind: sweep.Real},
	{Name: "received_us", Kind: sweep.Real}, // -1: not received during the run
	{Name: "rate_gbps", Kind: sweep.Real},
	{Name: "marked", Kind: sweep.Integer},
}

func (r *reactions) table() *sweep.Table {
	return &sweep.Table{Columns: reactionColumns, Rows: func(yield func([]any, error) bool) {
		for i := range r.Runs {
			for _, p := range r.Runs[i].Packets {
				received, marked := -1.0, int64(0)
				if p.Received != unit.Never {
					received = micros(p.Received)
				}
				if p.Marked {
					marked = 1
				}
				row := []any{r.Runs[i].Scheme, int64(p.Number), int64(p.PSN), micros(p.Sent), received, gigabits(p.Rate), marked}
				if !yield(row, nil) {
					return
				}
			}
		}
	}}
}

func micros(t unit.Time) float64 { return t.Seconds() * 1e6 }

// write writes the packets as a table, two figures, and the scenario.
func (r *reactions) write(dir string, s *topology.Scenario) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	scenario, err := topology.Marshal(s)
	if err != nil {
		return err
	}
	packets, rates := r.packetFigure(), r.rateFigure()
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"scenario.yaml", func(w io.Writer) error { _, err := w.Write(scenario); return err }},
		{"reaction.json", func(w io.Writer) error { return writeJSON(w, r) }},
		{"reaction.csv", func(w io.Writer) error { return sweep.WriteCSV(w, r.table()) }},
		{"reaction-packets.png", packets.PNG},
		{"reaction-packets.svg", packets.SVG},
		{"reaction-rate.png", rates.PNG},
		{"reaction-rate.svg", rates.SVG},
	} {
		if err := createFile(filepath.Join(dir, file.name), file.write); err != nil {
			return err
		}
	}
	return nil
}

// figure returns a figure with one panel per scheme, starting shortly before packet 1.
func (r *reactions) figure(title, y string, lines func(*reaction) []chart.Line) *chart.Figure {
	f := &chart.Figure{Title: title, XLabel: "time [us]", YLabel: y, XMax: micros(r.duration), PanelHeight: 220, Rows: [][]chart.Panel{nil}}
	for i := range r.Runs {
		run := &r.Runs[i]
		f.Rows[0] = append(f.Rows[0], chart.Panel{Title: run.Scheme, Aside: run.aside(), Lines: lines(run)})
		for _, p := range run.Packets {
			if p.Number == 0 {
				f.XMin = micros(p.Sent)
			}
		}
	}
	return f
}

func (r *reaction) aside() string {
	return fmt.Sprintf("slows down at %d, lowest at %d, recovered at %d", r.SlowDown, r.Lowest, r.Recovered)
}

// packetFigure plots packets over time. Marked packets are drawn on top.
func (r *reactions) packetFigure() *chart.Figure {
	return r.figure("Packets of "+r.Flow+", counted from the first that was marked", "packet", func(run *reaction) []chart.Line {
		sent := chart.Line{Name: "sent", Dots: true, Style: chart.Style{Over: 1}}
		marked := chart.Line{Name: "sent, and marked on the way", Dots: true, Style: chart.Style{Colour: 1, Dash: 1}}
		for _, p := range run.Packets {
			if p.Number < 0 || p.Number > lastDrawn {
				continue
			}
			sent.X, sent.Y = append(sent.X, micros(p.Sent)), append(sent.Y, float64(p.Number))
			if p.Marked {
				marked.X, marked.Y = append(marked.X, micros(p.Sent)), append(marked.Y, float64(p.Number))
			}
		}
		return []chart.Line{sent, marked}
	})
}

// lastDrawn is the last packet in the figure. The document draws 10.
const lastDrawn = 14

// rateFigure plots the sender's rate over time, as steps.
func (r *reactions) rateFigure() *chart.Figure {
	return r.figure("Rate of "+r.Flow, "rate [Gbit/s]", func(run *reaction) []chart.Line {
		rate := chart.Line{Name: "rate"}
		for i, step := range run.Rates {
			if i > 0 {
				rate.X, rate.Y = append(rate.X, micros(step.At)), append(rate.Y, gigabits(run.Rates[i-1].Rate))
			}
			rate.X, rate.Y = append(rate.X, micros(step.At)), append(rate.Y, gigabits(step.Rate))
		}
		rate.X, rate.Y = append(rate.X, micros(r.duration)), append(rate.Y, gigabits(run.Rates[len(run.Rates)-1].Rate))
		return []chart.Line{rate}
	})
}

func (r *reactions) print(w io.Writer, dir string) error {
	t := table.New(1, "scheme", "marked", "at packet", "at packet", "at packet", "us", "the end us", "cuts", "ACKs", "CNPs").Right(1, 2, 3, 4, 5, 6, 7, 8, 9)
	for i := range r.Runs {
		t.Row(r.Runs[i].row("")...)
		if row, ok := drawn[r.Runs[i].Scheme]; ok {
			t.Row(row...)
		}
	}
	for i := range r.Published {
		t.Row(r.Published[i].row(", DCQCN as published")...)
	}
	_, _ = fmt.Fprintf(w, "%s, seed %d, bus %s: %s meets congestion; its packets are counted from the first that was marked\n", r.Scenario, r.Seed, r.Bus, r.Flow)
	_ = t.Write(w)
	for i := range r.Runs {
		_, _ = fmt.Fprintf(w, "digest %s %s\n", r.Runs[i].Scheme, r.Runs[i].Digest)
	}
	_, err := fmt.Fprintf(w, "packets, plots and scenario: %s\n", dir)
	return err
}

func (r *reaction) row(how string) []any {
	return []any{
		r.Scheme + how, r.Marks, number(r.SlowDown), number(r.Lowest), number(r.Recovered),
		span(r.Notice), span(r.End), r.Cuts, r.ACKs, r.CNPs,
	}
}

func (r *reaction) marks() (n int) {
	for _, p := range r.Packets {
		if p.Marked {
			n++
		}
	}
	return n
}

// number formats a packet number, with a dash for 0.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func span(t unit.Time) string {
	if t == unit.Never {
		return "-"
	}
	return fmt.Sprintf("%.2f", micros(t))
}
