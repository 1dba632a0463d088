package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// comparison returns a table as wide as that of the paper's rack can become.
func comparison() Table {
	t := Table{Title: "pcn-16to2, seed 1, bus memory"}
	wide := Row{}
	for _, c := range []struct {
		group, name, value string
		text               bool
	}{
		{"", "scheme", "timely", true},
		{"ms", "tree", "12.34", false},
		{"ms", "paused", "12.34", false},
		{"ms", "dip", ">123.45", false},
		{"ms", "recovery", ">123.45", false},
		{"PAUSE frames", "s1->s0", "1234", false},
		{"PAUSE frames", "s0->h0", "1234", false},
		{"PAUSE frames", "s0->h1", "1234", false},
		{"PAUSE frames", "others", "12345", false},
		{"Gbit/s in burst", "F0", "37.53", false},
		{"Gbit/s in burst", "F1", "12.53", false},
		{"burst", "done", "224/224", false},
		{"burst", "p50 ms", "12.34", false},
		{"burst", "p99 ms", "12.34", false},
		{"", "drops", "1234", false},
		{"", "digest", "0123456789abcdef", true},
	} {
		t.Columns = append(t.Columns, Column{Group: c.group, Name: c.name, Text: c.text})
		wide = append(wide, Cell{Text: c.value})
	}
	withPaper := append(Row{}, wide...)
	withPaper[0].Text = "pcn"
	withPaper[1].Paper = "1.4"
	t.Rows = []Row{wide, withPaper}
	return t
}

func printed(t Table) []string {
	return strings.Split(strings.TrimRight(t.Layout().String(), "\n"), "\n")
}

func TestTableFitsATerminal(t *testing.T) {
	for _, line := range printed(comparison()) {
		if n := utf8.RuneCountInString(line); n > 140 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// A scheme that the paper reports has a line with the paper's values below ours,
// aligned to the right.
func TestPaperValuesAreBelowTheScheme(t *testing.T) {
	lines := printed(comparison())
	if len(lines) != 7 || !strings.HasPrefix(lines[4], "timely ") || !strings.HasPrefix(lines[5], "pcn ") || !strings.HasPrefix(lines[6], "  paper ") {
		t.Fatalf("lines:\n%s", strings.Join(lines, "\n"))
	}
	if ours, theirs := strings.Index(lines[5], "12.34")+len("12.34"), strings.Index(lines[6], "1.4")+len("1.4"); ours != theirs {
		t.Errorf("our tree ends at %d, the paper's at %d:\n%s\n%s", ours, theirs, lines[5], lines[6])
	}
}

// A group name is above its own columns only.
func TestGroupHeadingsAreAboveTheirColumns(t *testing.T) {
	lines := printed(comparison())
	for group, ends := range map[string][2]string{
		" ms ": {"scheme", "recovery"}, "PAUSE frames": {"recovery", "others"}, "Gbit/s in burst": {"others", "F1"}, "burst  ": {"F1", "p99 ms"},
	} {
		at := strings.LastIndex(lines[1]+"  ", group)
		from, to := strings.Index(lines[2], ends[0])+len(ends[0])+2, strings.Index(lines[2], ends[1])+len(ends[1])
		if at < from || at+len(strings.TrimSpace(group)) > to {
			t.Errorf("%q is at %d, its columns at %d to %d:\n%s\n%s", group, at, from, to, lines[1], lines[2])
		}
	}
}

// On a terminal of 80 columns the table of the paper's rack continues below without
// loss.
func TestTableContinuesBelowOnANarrowTerminal(t *testing.T) {
	table := comparison().Layout()
	got, whole := table.Text(80), table.String()
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, word := range strings.Fields(whole) {
		if !strings.Contains(word, "─") && strings.Count(got, word) < strings.Count(whole, word) {
			t.Errorf("%q is lost", word)
		}
	}
}
