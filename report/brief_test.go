package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
)

// A table that fits the terminal is whole. On a narrow one it has the most important figures in
// one table, with the paper's values, and says how many are left out.
func TestBriefTable(t *testing.T) {
	f := paperSample(t, "pfc", "pcn")
	whole := TableOf(f.Scenario, f.Results)
	for _, width := range []int{0, whole.Layout().Width()} {
		if got := BriefOf(f.Scenario, f.Results, width); len(got.Columns) != len(whole.Columns) {
			t.Errorf("width %d: %d columns, want %d", width, len(got.Columns), len(whole.Columns))
		}
	}
	b := BriefOf(f.Scenario, f.Results, 80)
	if w := b.Layout().Width(); w > 80 {
		t.Errorf("%d characters, want at most 80", w)
	}
	var names []string
	for _, c := range b.Columns {
		names = append(names, c.Name)
	}
	if want := []string{"scheme", "tree", "dip", "recovery", "PAUSE", "F0", "p99 ms", "drops", "digest"}; !slices.Equal(names, want) {
		t.Errorf("columns %q, want %q", names, want)
	}
	if got := b.Rows[1][4].Text; got != "2220" {
		t.Errorf("%s PAUSE frames, 2220 were sent", got)
	}
	if got := b.Rows[1][5].Paper; got != "37.5" {
		t.Errorf("the paper's goodput of F0 is %q", got)
	}
	if want := "7 of 14 figures; --wide shows all"; !slices.Contains(b.Notes, want) {
		t.Errorf("notes %q, want %q", b.Notes, want)
	}
	if slices.Contains(whole.Notes, b.Notes[len(b.Notes)-1]) {
		t.Error("the whole table has the note of the brief one")
	}
}

// On any terminal the table has the scheme and the digest, and fits if that is possible.
func TestBriefTableOfAnyWidth(t *testing.T) {
	many := manyFlows(t)
	for width := 20; width < 200; width += 20 {
		b := BriefVariantsOf("title", "key", many.Scenario, Variants(many.Results), width)
		if w := b.Layout().Width(); w > max(width, 26) {
			t.Errorf("width %d: %d characters", width, w)
		}
		if first, last := b.Columns[0].Name, b.Columns[len(b.Columns)-1].Name; first != "key" || last != "digest" {
			t.Errorf("width %d: columns %s to %s", width, first, last)
		}
	}
	wide := BriefVariantsOf("title", "key", many.Scenario, Variants(many.Results), 80)
	text := strings.Join(wide.Notes, "\n")
	if !strings.Contains(text, "the slowest of 12 flows") {
		t.Errorf("notes %q", text)
	}
	at := slices.IndexFunc(wide.Columns, func(c Column) bool { return c.Name == "PAUSE" })
	if at < 0 || wide.Rows[0][at].Text != measure.OtherPauses(nil)[0].Text(many.Results.Runs[0]) {
		t.Errorf("no PAUSE frames in %v", wide.Columns)
	}
}
