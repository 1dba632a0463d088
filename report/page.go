package report

import (
	_ "embed" // for the page
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report/chart"
)

//go:embed page.html
var pageText string

// pageTemplate is parsed when the first page is written, because other roles of the
// binary do not use it.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// page is the data of the template.
type page struct {
	Title    string
	Colours  []chart.Colour
	Runs     []pageRun
	Glossary []term
	Figures  []pageFigure
	Shaded   bool // plots have the time of bursts
}

// term is a heading of a column with the definition of its figure.
type term struct{ Name, Meaning string }

// pageRun is the data of one folder.
type pageRun struct {
	*Folder
	Label               string // "" if the page has no other run
	Findings            []string
	Tree                *pageFigure // nil if no link was paused
	Compared            Table
	Heads               []head // of the column groups
	Parallel            Table  // without rows if there are no parallel links
	Entropies           Table  // without rows if no sender reacted to feedback about paths
	Paused, Cost        Table
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
	p := page{Colours: chart.Colours()}
	var names []string
	all := trees(runs)
	for i, f := range runs {
		if !slices.Contains(names, f.Results.Scenario) {
			names = append(names, f.Results.Scenario)
		}
		p.Runs = append(p.Runs, newPageRun(f))
		if t := all[i]; t != nil {
			p.Runs[i].Tree = &pageFigure{t.Name, t.Title, t.Caption, template.HTML(t.Inline())} // as below
		}
		if len(runs) > 1 {
			p.Runs[i].Label = labels(runs)[i]
		}
	}
	p.Shaded = slices.ContainsFunc(runs, bursting)
	p.Title, p.Glossary = strings.Join(names, " and "), glossary(p.Runs)
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
	rows := Variants(&measure.Results{Runs: r.Runs}) // without repetitions: the runs of variant 0
	_, paused := pauseFigures(f.Scenario, r.Runs)
	p := pageRun{
		Folder: f, Findings: Findings(f.Scenario, Variants(r)), Compared: t, Heads: heads(t),
		Parallel: parallelTable(rows), Entropies: entropyTable(rows), Paused: newTable("scheme", paused, rows), Cost: newTable("scheme", measure.Cost, rows),
		FabricTime: r.Runs[0].FabricTime.String(), BinTime: r.Runs[0].Series.Bin.String(),
		HasPaper: ofPaper(f.Scenario, r),
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

// glossary defines the figures of the tables. Figures with one definition share a term.
func glossary(runs []pageRun) (terms []term) {
	for _, r := range runs {
		for _, c := range slices.Concat(r.Compared.Columns, r.Cost.Columns) {
			i := slices.IndexFunc(terms, func(t term) bool { return t.Meaning == c.Meaning })
			switch {
			case c.Meaning == "":
			case i < 0:
				terms = append(terms, term{c.Name, c.Meaning})
			case !slices.Contains(strings.Split(terms[i].Name, ", "), c.Name):
				terms[i].Name += ", " + c.Name
			}
		}
	}
	return terms
}
