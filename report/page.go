package report

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/rackfab/rackfab/fabric/measure"
)

//go:embed page.html
var pageText string

// pageTemplate is parsed when the first page is written, because other roles of the
// binary do not use it.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// page is the data of the template.
type page struct {
	Title   string
	Runs    []pageRun
	Figures []pageFigure
}

// pageRun is the data of one folder.
type pageRun struct {
	*Folder
	Label               string // "" if the page has no other run
	Compared            Table
	Heads               []head // of the column groups
	Held, Cost          Table
	FabricTime, BinTime string
	HasPaper            bool
	Repeats             int // number of variants, 0 for a run without variants
	Moved               string
}

// head is a group of columns with a common heading.
type head struct {
	Text string
	Span int
}

type pageFigure struct {
	Name, Title, Caption string
	SVG                  template.HTML
}

// Page writes the page as one self-contained HTML file.
func Page(w io.Writer, runs []*Folder, figures []Figure) error {
	p := page{}
	var names []string
	for i, f := range runs {
		if !slices.Contains(names, f.Results.Scenario) {
			names = append(names, f.Results.Scenario)
		}
		p.Runs = append(p.Runs, newPageRun(f))
		if len(runs) > 1 {
			p.Runs[i].Label = labels(runs)[i]
		}
	}
	p.Title = strings.Join(names, " and ")
	for i := range figures {
		f := &figures[i]
		svg := template.HTML(f.Inline()) // package chart escapes all text
		p.Figures = append(p.Figures, pageFigure{f.Name, f.Title, f.Caption, svg})
	}
	return pageTemplate().Execute(w, p)
}

func newPageRun(f *Folder) pageRun {
	r := f.Results
	t := TableOf(f.Scenario, r)
	p := pageRun{
		Folder: f, Compared: t, Heads: heads(t), Held: held(f), Cost: cost(r),
		FabricTime: r.Runs[0].FabricTime.String(), BinTime: r.Runs[0].Series.Bin.String(),
		HasPaper: r.Scenario == paperScenario,
	}
	if r.Repeats != nil {
		p.Repeats, p.Moved = len(r.Repeats.Variants), moved(r.Repeats)
	}
	return p
}

func heads(t Table) (all []head) {
	for _, c := range t.Columns {
		if n := len(all); n > 0 && c.Group != "" && all[n-1].Text == c.Group {
			all[n-1].Span++
			continue
		}
		all = append(all, head{c.Group, 1})
	}
	return all
}

// held returns a table of how long PAUSE paused the peer on each link of interest.
func held(f *Folder) Table {
	links := victimLinks(f.Scenario)
	t := Table{Columns: []Column{{"", "scheme", true}}}
	for _, link := range links {
		t.Columns = append(t.Columns, Column{"", link, false})
	}
	t.Columns = append(t.Columns, Column{"", "others, summed", false})
	for _, run := range f.Results.Runs {
		row := Row{{Text: run.Scheme}}
		for _, link := range links {
			row = append(row, Cell{Text: milli(pauseOn(run, link).Paused)})
		}
		t.Rows = append(t.Rows, append(row, Cell{Text: milli(pauseElsewhere(run, links).Paused)}))
	}
	return t
}

// cost returns a table of the resources that the emulation used.
func cost(r *measure.Results) Table {
	t := Table{Columns: []Column{
		{"", "scheme", true},
		{"", "wall s", false},
		{"", "CPU s", false},
		{"", "frame-hops", false},
		{"", "million frame-hops/s", false},
		{"", "envelopes", false},
		{"", "retransmitted", false},
		{"", "malformed", false},
	}}
	for _, run := range r.Runs {
		t.Rows = append(t.Rows, Row{
			{Text: run.Scheme},
			number("%.2f", run.Wall), number("%.2f", run.CPU), number("%d", run.FrameHops),
			number("%.2f", float64(run.FrameHops)/max(run.Wall, 1e-9)/1e6), number("%d", run.Envelopes),
			number("%d", run.Retransmits), number("%d", run.Malformed),
		})
	}
	return t
}

func number(format string, v any) Cell { return Cell{Text: fmt.Sprintf(format, v)} }
