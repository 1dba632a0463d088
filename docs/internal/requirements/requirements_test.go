package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The section of these rows is not one of the project's, so that this file
// cites nothing.
const someRows = `id,behavioural,requirement,reason
TRY-1,yes,First,
TRY-2,yes,"Second | third",
TRY-3,no,Box,hardware
TRY-4,yes,Fourth,
`

const someTest = `package p

// TRY-4 in a comment of no function.

// TestOne holds TRY-1.
func TestOne(t *testing.T) {}

func TestTwo(t *testing.T) {
	// TRY-1, and once more TRY-1; RFC-1624 is no row.
	x := "TRY-4" // in a string it is no citation
	/* a range: TRY-1..2 */
}

// TRY-4
func BenchmarkX(b *testing.B) {}

// TRY-4
func check(t *testing.T) {}
`

// module writes a module with these files and gives its root.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPageNamesTheTestsOfEachRow(t *testing.T) {
	root := module(t, map[string]string{
		rowsFile:                 someRows,
		"p/p_test.go":            someTest,
		"p/testdata/story.txt":   "# TRY-2: a story\nTRY-4 in a command\n",
		"p/notes.txt":            "# TRY-4\n",
		".cache/p_test.go":       "package p\n// TRY-4\nfunc TestX(t *testing.T) {}\n",
		"p/p.go":                 "package p // TRY-4\n",
		"p/testdata/sub/log.csv": "# TRY-4\n",
	})
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| TRY-") || strings.HasPrefix(line, "| all") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		"| all | 4 | 2 | 1 | 1 |",
		"| TRY-1 | First | [p/p_test.go:TestOne](../p/p_test.go)<br>[p/p_test.go:TestTwo](../p/p_test.go) |",
		`| TRY-2 | Second \| third | [p/p_test.go:TestTwo](../p/p_test.go)<br>[p/testdata/story.txt](../p/testdata/story.txt) |`,
		"| TRY-3 | Box | *not behavioural*: hardware |",
		"| TRY-4 | Fourth | *open* |",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

func TestCheckFailsOnAStalePage(t *testing.T) {
	root := module(t, map[string]string{rowsFile: someRows})
	if err := run(root, true); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a page: %v", err)
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Errorf("with a fresh page: %v", err)
	}
	cite := "package p\n// TRY-1\nfunc TestX(t *testing.T) {}\n"
	if err := os.WriteFile(filepath.Join(root, "p_test.go"), []byte(cite), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); !errors.Is(err, errStale) {
		t.Errorf("after a new citation: %v, want %v", err, errStale)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	const head = "id,behavioural,requirement,reason\n"
	tests := []struct{ name, rows, comment, want string }{
		{"unknown ID", someRows, "TRY-9", "TRY-9 stands in no row"},
		{"range past the end", someRows, "TRY-3..5", "TRY-5 stands in no row"},
		{"range backwards", someRows, "TRY-3..2", "no range"},
		{"number past any row", someRows, "TRY-99999999999999999999", "no range"},
		{"no header", "TRY-1,yes,First,\n", "", "first line"},
		{"empty", "", "", "first line"},
		{"twice", head + "TRY-1,yes,a,\nTRY-1,yes,b,\n", "", "stands twice"},
		{"no ID", head + "x,yes,a,\n", "", "is no ID"},
		{"no text", head + "TRY-1,yes,,\n", "", "no text"},
		{"no reason", head + "TRY-1,no,a,\n", "", "say why"},
		{"needless reason", head + "TRY-1,yes,a,b\n", "", "needs no reason"},
		{"neither", head + "TRY-1,maybe,a,\n", "", "want yes or no"},
		{"missing field", head + "TRY-1,yes\n", "", "wrong number of fields"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := module(t, map[string]string{
				rowsFile:    tt.rows,
				"p_test.go": "package p\n// " + tt.comment + "\nfunc TestX(t *testing.T) {}\n",
			})
			if err := run(root, false); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestEveryRowIsThere holds the number of rows per source document, so that no
// requirement is lost.
func TestEveryRowIsThere(t *testing.T) {
	rows, err := readRows(filepath.Join("..", "..", "..", filepath.FromSlash(rowsFile)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range rows {
		got[r.section()]++
		if titles[r.section()] == "" {
			t.Errorf("%s: its section has no title", r.id)
		}
	}
	want := map[string]int{"CETH": 66, "CBRC": 43, "PCN": 62, "GET": 61, "RTTX": 67}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows per section (-want +got):\n%s", d)
	}
}
