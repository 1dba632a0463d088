package table

import (
	"strings"
	"testing"
)

// wide returns a table with a group of columns and a row of which most cells are empty.
func wide() *Table {
	t := New(1, "scheme", "tree", "s1->s0", "others", "digest").Right(1, 2, 3)
	t.Columns[2].Group, t.Columns[3].Group = "PAUSE frames", "PAUSE frames"
	t.Row("pfc", "3.1", 32, 210, "de4e")
	t.Row("  paper", "3", "", "200")
	return t
}

const whole = `
                PAUSE frames
scheme   tree  s1->s0  others  digest
─────────────────────────────────────
pfc       3.1      32     210  de4e
  paper     3             200
`

// Columns that are the same in all rows are left out, but for those that identify the rows, and unless
// nothing else would be left.
func TestOmitAlike(t *testing.T) {
	made := func(drops ...int) *Table {
		out := New(1, "scheme", "tree", "drops", "text")
		for i, n := range drops {
			out.Row("pfc", i, n, "x")
		}
		out.Rule()
		return out
	}
	for _, test := range []struct {
		table   *Table
		removed int
		columns string
	}{
		{made(0, 0), 2, "scheme  tree"},
		{made(0, 1), 1, "scheme  tree  drops"},
		{made(7), 0, "scheme  tree  drops  text"},
	} {
		if n := test.table.OmitAlike(); n != test.removed || !strings.HasPrefix(test.table.String(), test.columns+"\n") {
			t.Errorf("%d removed, want %d and %s:\n%s", n, test.removed, test.columns, test.table)
		}
	}
	same := New(1, "seed", "drops").Right(1)
	same.Row(1, 5)
	same.Row(2, 5)
	if n := same.OmitAlike(); n != 0 || len(same.Columns) != 2 {
		t.Errorf("%d removed of a table whose only figure is the same:\n%s", n, same)
	}
}

// A table that is too wide continues below, with the names of its rows. It is split
// between columns, but not within a group.
func TestWideTableContinuesBelow(t *testing.T) {
	for _, tt := range []struct {
		width, names int
		want         string
	}{
		{0, 1, whole},
		{37, 1, whole},
		{36, 1, `
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
		{28, 1, `
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
		{29, 5, whole},
	} {
		table := wide()
		table.Names = tt.names
		if got := table.Text(tt.width); got != strings.TrimPrefix(tt.want, "\n") {
			t.Errorf("%d columns, %d names:\n%s", tt.width, tt.names, got)
		}
	}
	table := wide()
	table.Names = 2
	table.Columns[2].Group, table.Columns[3].Group = "", ""
	if got := table.Text(29); !strings.Contains(got, "\nscheme   tree  digest\n") || strings.Count(got, "3.1") != 2 {
		t.Errorf("two columns name a row:\n%s", got)
	}
}

// A column that is too wide by itself is wrapped below its header without loss.
func TestWideColumnIsWrapped(t *testing.T) {
	table := New(1, "span", "took", "attributes")
	table.Row("WRITE", "6us", "failed: flow-stopped bytes=64000 packets=16")
	table.Row("  rate", "", "rate.new=170Mbps rate.old=40Gbps")
	for width, want := range map[int]string{
		30: `span    took
────────────
WRITE   6us
  rate

span    attributes
──────────────────────────────
WRITE   failed: flow-stopped
        bytes=64000 packets=16
  rate  rate.new=170Mbps
        rate.old=40Gbps
`,
		60: `span    took  attributes
─────────────────────────────────────────────────────────
WRITE   6us   failed: flow-stopped bytes=64000 packets=16
  rate        rate.new=170Mbps rate.old=40Gbps
`,
	} {
		if got := table.Text(width); got != want {
			t.Errorf("%d columns:\n%s", width, got)
		}
	}
}

// A column of text is wrapped beside the others if they leave room for it, but no word is broken.
func TestColumnOfTextIsWrappedBesideOthers(t *testing.T) {
	table := New(1, "span", "attributes", "took")
	table.Row("WRITE", "bytes=64000 packets=16 rate.new=170Mbps rate.old=40Gbps", "6us")
	const want = `span   attributes              took
───────────────────────────────────
WRITE  bytes=64000 packets=16  6us
       rate.new=170Mbps
       rate.old=40Gbps
`
	if got := table.Text(38); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	table.Row("READ", strings.Repeat("x", 40), "7us")
	if got := table.Text(40); strings.Count(got, "span ") < 2 || !strings.Contains(got, "\nspan   took\n") {
		t.Errorf("the table does not continue below:\n%s", got)
	}
}

func TestNumericColumnsAreRightAligned(t *testing.T) {
	table := New(1, "flow", "bytes", "empty", "doc")
	table.Title, table.OmitEmpty = "flows", true
	table.Columns[3].Max = 8
	table.Row("F0", 5, "", "a text of more than eight")
	table.Rule()
	table.Row("F1", 12345)
	const want = `flows
flow  bytes  doc
────────────────────
F0        5  a text
             of more
             than
             eight
────────────────────
F1    12345
`
	if got := table.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"a bc def":              "a bc\ndef",
		"one\ntwo three":        "one\ntwo\nthree",
		"abcdefghijklm nop":     "abcde\nfghij\nklm\nnop",
		"ab abcdefghijklmno pq": "ab\nabcde\nfghij\nklmno\npq",
	} {
		if got := Wrap(text, 5); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Folded lines keep their indent, and columns are not broken.
func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"a line of twenty-four and more characters\n":        "a line of twenty-four and more\n  characters\n",
		"  an indented line of more than thirty characters":  "  an indented line of more\n    than thirty characters",
		"  10us  a label, which the continued line is below": "  10us  a label, which the\n        continued line is below",
		"  from   until  rate of the frames in  a column":    "  from   until  rate of the frames in  a column",
		"short": "short",
	} {
		if got := Fold(text, 32); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
