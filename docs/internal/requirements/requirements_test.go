package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The section of these rows is not a section of the project, so that this file
// cites nothing.
const someRows = someHeader + `TRY-1,First,§1,S,held,
TRY-2,"Second | third",§2,A,held,
TRY-3,Box,claim 1,N,not behavioural,hardware
TRY-4,Fourth,fig. 4,S,held,
TRY-5,Fifth,—,M,partly,no sixth
TRY-6,Takes 2 ms,§6,S,"measured, does not hold","F0 takes 1.02 ms, not 2"
TRY-7,Seventh,§7,S,open,waits for the eighth
`

const someHeader = "id,requirement,source,basis,status,note\n"

const someTest = `package p

// TRY-4 in a comment of no function.

// TestOne holds TRY-1.
func TestOne(t *testing.T) {}

func TestTwo(t *testing.T) {
	// TRY-1, and once more TRY-1; RFC-1624 is no row.
	x := "TRY-4" // in a string it is no citation
	/* a range: TRY-1..2 */
}

func TestPart(t *testing.T) {
	// TRY-5, TRY-6
	check(1.02)
}

// TRY-4
func BenchmarkX(b *testing.B) {}

// TRY-4
func check(t *testing.T) {}
`

// module writes a module with these files and returns its root.
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
		"| all | 7 | 2 | 1 | 1 | 2 | 1 |",
		"| TRY-1 | First | §1 (S) | held | [p/p_test.go:TestOne](../p/p_test.go)<br>[p/p_test.go:TestTwo](../p/p_test.go) |",
		`| TRY-2 | Second \| third | §2 (A) | held | [p/p_test.go:TestTwo](../p/p_test.go)<br>[p/testdata/story.txt](../p/testdata/story.txt) |`,
		"| TRY-3 | Box | claim 1 (N) | **not behavioural**: hardware |  |",
		"| TRY-4 | Fourth | fig. 4 (S) | open |  |",
		"| TRY-5 | Fifth | — (M) | **partly**: no sixth | [p/p_test.go:TestPart](../p/p_test.go) |",
		"| TRY-6 | Takes 2 ms | §6 (S) | **measured, does not hold**: F0 takes 1.02 ms, not 2 | [p/p_test.go:TestPart](../p/p_test.go) |",
		"| TRY-7 | Seventh | §7 (S) | **open**: waits for the eighth |  |",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

func TestCheckFailsOnAStalePage(t *testing.T) {
	root := module(t, map[string]string{rowsFile: someHeader + "TRY-1,First,§1,S,held,\n"})
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

func TestInvalidCitationsAreReported(t *testing.T) {
	const one = someHeader + "TRY-1,a,b,S,held,\n"
	tests := []struct{ name, rows, comment, want string }{
		{"unknown ID", one, "TRY-9", "unknown ID TRY-9"},
		{"range past the end", one, "TRY-1..2", "unknown ID TRY-2"},
		{"range backwards", one, "TRY-1..0", "invalid range"},
		{"number past any row", one, "TRY-99999999999999999999", "invalid range"},
		{"no header", "TRY-1,a,b,S,held,\n", "", "first line"},
		{"empty", "", "", "first line"},
		{"twice", one + "TRY-1,b,b,S,held,\n", "", "duplicate ID TRY-1"},
		{"no ID", someHeader + "x,a,b,S,held,\n", "", "invalid ID"},
		{"no text", someHeader + "TRY-1,,b,S,held,\n", "", "needs a text"},
		{"no source", someHeader + "TRY-1,a,,S,held,\n", "", "needs a text, a source"},
		{"unknown status", someHeader + "TRY-1,a,b,S,maybe,\n", "", `invalid status "maybe": must be one of ["held" "partly"`},
		{"needless note", someHeader + "TRY-1,a,b,S,held,c\n", "", "remove the note"},
		{"nothing missing", someHeader + "TRY-1,a,b,S,partly,\n", "TRY-1", "must say what is missing"},
		{"part of nothing", someHeader + "TRY-1,a,b,S,partly,c\n", "", "(partly): no test cites it"},
		{"no figure", someHeader + "TRY-1,a,b,S,\"measured, does not hold\",slow\n", "TRY-1", "must start with the measured figure"},
		{"no test", someHeader + "TRY-1,a,b,S,\"measured, does not hold\",7 ms\n", "", "no test that cites it has the figure 7"},
		{"another figure", someHeader + "TRY-1,a,b,S,\"measured, does not hold\",7 ms\n", "TRY-1: 7.5 ms, 17 and 71", "has the figure 7"},
		{"open and cited", someHeader + "TRY-1,a,b,S,open,c\n", "TRY-1", "p_test.go:TestX cites it"},
		{"no reason", someHeader + "TRY-1,a,b,N,not behavioural,\n", "", "must say why"},
		{"not behavioural and cited", someHeader + "TRY-1,a,b,N,not behavioural,c\n", "TRY-1", "p_test.go:TestX cites it"},
		{"missing field", someHeader + "TRY-1,a\n", "", "wrong number of fields"},
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

// TestEveryRequirementHasARow checks the number of rows per source document and the digest
// of their texts, so that no requirement is lost or shortened. Change the digest only after
// a comparison of the changed rows with their source.
func TestEveryRequirementHasARow(t *testing.T) {
	rows, err := readRows(filepath.Join("..", "..", "..", filepath.FromSlash(rowsFile)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	texts := sha256.New()
	for _, r := range rows {
		fmt.Fprintln(texts, r.id, r.title, r.source, r.basis)
		got[r.section()]++
		if titles[r.section()] == "" {
			t.Errorf("%s: its section has no title", r.id)
		}
	}
	want := map[string]int{
		"CBRC":  43,
		"CETH":  66,
		"COLL":  20,
		"EV":    10,
		"GET":   61,
		"IMP":   18,
		"MRC":   13,
		"NSCC":  23,
		"PATH":  13,
		"PCN":   64,
		"PROG":  9,
		"RCCC":  5,
		"RTTX":  67,
		"TOOL":  5,
		"TRIM":  12,
		"TRUST": 13,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows per section (-want +got):\n%s", d)
	}
	const digest = "39ccb06cf731fbe4"
	if sum := fmt.Sprintf("%x", texts.Sum(nil)[:8]); sum != digest {
		t.Errorf("digest of the texts is %s, want %s", sum, digest)
	}
}
