package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const wide = `
               PAUSE frames
scheme   tree  s1->s0  others  digest
─────────────────────────────────────
pfc       3.1      32     210  de4e
  paper     3             200
`

var wideGroups = []string{"", "", "PAUSE frames", "PAUSE frames", ""}

// A table that is too wide continues below, with the names of its rows. It is cut
// between columns, but not within a group.
func TestFold(t *testing.T) {
	table := strings.TrimPrefix(wide, "\n")
	for _, tt := range []struct {
		width, names int
		groups       []string
		want         string
	}{
		{37, 1, wideGroups, wide},
		{36, 1, wideGroups, `
               PAUSE frames
scheme   tree  s1->s0  others
─────────────────────────────
pfc       3.1      32     210
  paper     3             200

scheme   digest
───────────────
pfc      de4e
  paper
`},
		{28, 1, wideGroups, `
scheme   tree
─────────────
pfc       3.1
  paper     3

         PAUSE frames
scheme   s1->s0  others
───────────────────────
pfc          32     210
  paper             200

scheme   digest
───────────────
pfc      de4e
  paper
`},
		{29, 9, wideGroups, wide},
	} {
		if got := fold(table, tt.width, tt.names, tt.groups); got != strings.TrimPrefix(tt.want, "\n") {
			t.Errorf("%d columns, %d names:\n%s", tt.width, tt.names, got)
		}
	}
	plain := strings.SplitN(table, "\n", 2)[1]
	if got := fold(plain, 29, 2, nil); !strings.Contains(got, "\nscheme   tree  digest\n") || strings.Count(got, "3.1") != 2 {
		t.Errorf("two columns name a row:\n%s", got)
	}
}

// A column that is too wide by itself is wrapped below its header without loss.
func TestFoldWrapsText(t *testing.T) {
	const table = `span    took  what is known
────────────────────────────────────────────────────────
WRITE    6us  failed: flow-stopped bytes=64000 packets=16
  rate        rate.new=170Mbps rate.old=40Gbps
`
	for width, want := range map[int]string{
		30: `span    took
────────────
WRITE    6us
  rate

span    what is known
──────────────────────────────
WRITE   failed: flow-stopped
        bytes=64000 packets=16
  rate  rate.new=170Mbps
        rate.old=40Gbps
`,
		60: table,
	} {
		if got := fold(table, width, 1, nil); got != want {
			t.Errorf("%d columns:\n%s", width, got)
		}
	}
}

// The folded comparison of the paper's rack fits a terminal of 80 columns without loss.
func TestTheTableFoldsToATerminal(t *testing.T) {
	compared := comparison()
	table := strings.Join(printed(compared)[1:], "\n")
	var groups []string
	for _, c := range compared.Columns {
		groups = append(groups, c.Group)
	}
	got := fold(table, 80, 1, groups)
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, word := range strings.Fields(table) {
		if !strings.Contains(word, "─") && strings.Count(got, word) < strings.Count(table, word) {
			t.Errorf("%q is lost", word)
		}
	}
}
