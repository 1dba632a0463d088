package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// BriefOf returns the table of TableOf, or one that fits a terminal of that many columns: the
// most important figures, with the PAUSE frames of all links in one column, and a note on how
// many figures are left out. A width of 0 means no limit.
func BriefOf(s *topology.Scenario, r *measure.Results, width int) Table {
	rows, paper := Variants(r), ofPaper(s, r)
	return brief(TableOf(s, r), s, rows, width, func(t *Table, figures []measure.Figure) {
		if paper {
			t.addPaper(rows, figures)
		}
	})
}

// BriefVariantsOf is BriefOf for the table of VariantsOf.
func BriefVariantsOf(title, varied string, s *topology.Scenario, variants []Variant, width int) Table {
	return brief(VariantsOf(title, varied, s, variants), s, variants, width, func(*Table, []measure.Figure) {})
}

// brief returns the whole table, or the most important figures that fit. complete adds the
// paper's values to a table of figures.
func brief(whole Table, s *topology.Scenario, variants []Variant, width int, complete func(*Table, []measure.Figure)) Table {
	if width == 0 || whole.Layout().Width() <= width {
		return whole
	}
	var runs []*measure.Run
	for _, v := range variants {
		runs = append(runs, v.Run)
	}
	digest := len(whole.Columns) - 1
	of := func(figures []measure.Figure) Table {
		t := newTable(whole.Columns[0].Name, figures, variants)
		complete(&t, figures)
		t.Title, t.Notes, t.Columns = whole.Title, whole.Notes, append(t.Columns, whole.Columns[digest])
		for i := range t.Rows {
			t.Rows[i] = append(t.Rows[i], whole.Rows[i][digest])
		}
		return t
	}
	all := figuresOf(s, runs)
	var chosen []measure.Figure
	for _, f := range important(s, variants, all) {
		if more := append(slices.Clone(chosen), f); of(more).Layout().Width() <= width {
			chosen = more
		}
	}
	inOrder(chosen, all)
	t := of(chosen)
	t.Notes = slices.Clone(t.Notes)
	if !t.partial() {
		t.Notes = slices.DeleteFunc(t.Notes, func(n string) bool { return n == partialNote })
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%d of %d figures; --wide shows all", len(chosen), len(all)))
	return t
}

// totalPauses stands for the columns of single links.
var totalPauses = func() measure.Figure {
	f := measure.OtherPauses(nil)[0]
	f.Group, f.Title = "", "PAUSE"
	return f
}()

// ofLinks reports whether a column counts the PAUSE frames of a link, or of the links that have
// no column.
func ofLinks(f measure.Figure) bool { return f.Group == measure.PauseGroup }

// important lists the figures of a table, the most important first.
func important(s *topology.Scenario, variants []Variant, all []measure.Figure) (list []measure.Figure) {
	add := func(figures ...measure.Figure) {
		for _, f := range figures {
			if is := same(f); slices.ContainsFunc(all, is) && !slices.ContainsFunc(list, is) {
				list = append(list, f)
			}
		}
	}
	named := measure.Catalogue(s)
	add(measure.Tree)
	for _, c := range named.Collectives {
		add(c.Time, c.BusBW)
	}
	for _, c := range named.Commands {
		add(c.Completed, c.P99, c.Goodput)
	}
	for _, w := range named.Workloads {
		for _, class := range w.Classes {
			add(class.Slowdown[2])
		}
	}
	add(measure.ProgramTime, measure.FailureRecovery, measure.Drops, measure.DeadlockedLinks)
	list = append(list, totalPauses)
	add(measure.Recovery)
	if v := victimOf(s, variants); v != nil {
		add(v.figure)
		if at := len(list) - 1; same(v.figure)(list[at]) {
			list[at].Group = "Gbit/s" // the heading of the burst is wider than the column
		}
	}
	add(measure.SingleBurstGoodputs...)
	add(measure.SingleGoodputs...)
	add(measure.BurstP99, measure.Dip)
	add(all...)
	return slices.DeleteFunc(list, ofLinks)
}

// same returns a function that reports whether a figure is f, whatever its group's heading. Some
// figures of tables have no name.
func same(f measure.Figure) func(measure.Figure) bool {
	return func(o measure.Figure) bool {
		return o.Name == f.Name && o.Title == f.Title && (f.Name != "" || o.Group == f.Group)
	}
}

// inOrder sorts figures as in the whole table. The PAUSE frames of all links are where those of
// single links are.
func inOrder(figures, all []measure.Figure) {
	place := func(f measure.Figure) int {
		if f.Title == totalPauses.Title {
			return slices.IndexFunc(all, func(o measure.Figure) bool { return ofLinks(o) || same(measure.Drops)(o) })
		}
		return slices.IndexFunc(all, same(f))
	}
	slices.SortStableFunc(figures, func(a, b measure.Figure) int { return cmp.Compare(place(a), place(b)) })
}
