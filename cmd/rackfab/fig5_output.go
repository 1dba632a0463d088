package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/rackfab/rackfab/report/chart"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// fig5Columns are the columns of the step table. Names end with their units.
var fig5Columns = []sweep.Column{
	{Name: "F1.sent_wire_gbps", Kind: sweep.Real},
	{Name: "F1.sent_payload_gbps", Kind: sweep.Real},
	{Name: "F1.goodput_gbps", Kind: sweep.Real},
	{Name: "F0.goodput_gbps", Kind: sweep.Real},
	{Name: fig5Link + ".pause_frames", Kind: sweep.Integer},
	{Name: fig5Link + ".pause_frames_per_ms", Kind: sweep.Real},
	{Name: fig5Link + ".paused_share", Kind: sweep.Real},
}

func (s *fig5Step) row() []any {
	return []any{s.Wire, s.Payload, s.Flow, s.Victim, s.Pauses, s.PerMs, s.Held}
}

func (r *fig5Result) table() *sweep.Table {
	return &sweep.Table{Columns: fig5Columns, Rows: func(yield func([]any, error) bool) {
		for i := range r.Steps {
			if !yield(r.Steps[i].row(), nil) {
				return
			}
		}
	}}
}

// writeFig5 writes the steps as a table, and two figures over the TX rate of F1: the
// PAUSE rate on s1->s0, and the goodput of F0 and F1.
func writeFig5(dir string, r *fig5Result) error {
	pauses := r.figure("Fig. 5: PAUSE on s1->s0", "PAUSE frames per ms",
		r.line("s1->s0", 0, func(s *fig5Step) float64 { return s.PerMs }))
	goodput := r.figure("Fig. 5: what the flows get", "goodput [Gbit/s]",
		r.line("F0", 0, func(s *fig5Step) float64 { return s.Victim }),
		r.line("F1", 1, func(s *fig5Step) float64 { return s.Flow }))
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"fig5.json", func(w io.Writer) error { return writeJSON(w, r) }},
		{"fig5.csv", func(w io.Writer) error { return sweep.WriteCSV(w, r.table()) }},
		{"fig5.parquet", func(w io.Writer) error { return sweep.WriteParquet(w, r.table()) }},
		{"fig5-pauses.png", pauses.PNG},
		{"fig5-pauses.svg", pauses.SVG},
		{"fig5-goodput.png", goodput.PNG},
		{"fig5-goodput.svg", goodput.SVG},
	} {
		if err := createFile(filepath.Join(dir, file.name), file.write); err != nil {
			return err
		}
	}
	return nil
}

func (r *fig5Result) figure(title, y string, lines ...chart.Line) *chart.Figure {
	return &chart.Figure{
		Title: title, XLabel: "rate at which F1 sends, payload [Gbit/s]", YLabel: y,
		XMin: 0, XMax: r.Steps[0].Payload + 0.2, PanelHeight: 200,
		Rows: [][]chart.Panel{{{Lines: lines}}},
	}
}

func (r *fig5Result) line(name string, style int, y func(*fig5Step) float64) chart.Line {
	l := chart.Line{Name: name, Style: chart.Style{Colour: style, Dash: style}, Dots: true}
	for i := range slices.Backward(r.Steps) {
		l.X = append(l.X, r.Steps[i].Payload)
		l.Y = append(l.Y, y(&r.Steps[i]))
	}
	return l
}

func printFig5(w io.Writer, r *fig5Result) error {
	t := table.New(2, "F1 sends, wire", "payload", "F1 gets", "F0 gets", "PAUSE on s1->s0", "per ms", "s0 paused").Right(0, 1, 2, 3, 4, 5, 6)
	t.Title = "fig5: F1 stepped down; Gbit/s"
	for _, s := range r.Steps {
		t.Row(fmt.Sprintf("%.2f", s.Wire), fmt.Sprintf("%.2f", s.Payload), fmt.Sprintf("%.2f", s.Flow), fmt.Sprintf("%.2f", s.Victim),
			s.Pauses, fmt.Sprintf("%.2f", s.PerMs), fmt.Sprintf("%.1f %%", s.Held*100))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.verdict())
	return err
}

// verdict returns the rate at which PAUSE begins. The paper's value is a payload rate:
// 40 Gbit/s shared by four flows, without headers.
func (r *fig5Result) verdict() string {
	switch {
	case r.Wire == 0:
		return "PAUSE on s1->s0 comes at every rate of F1 that was tried"
	case r.Steps[0].Pauses == 0:
		return "PAUSE on s1->s0 comes at no rate of F1 that was tried"
	}
	return fmt.Sprintf("PAUSE on s1->s0 begins when F1 sends more than %.2f Gbit/s of payload, %.2f on the wire (the paper: 9.5)", r.Payload, r.Wire)
}
