package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// A citer finds the requirement IDs that a text cites.
type citer struct{ known, sections map[string]bool }

func newCiter(rows []row) citer {
	c := citer{map[string]bool{}, map[string]bool{}}
	for _, r := range rows {
		c.known[r.id], c.sections[r.section()] = true, true
	}
	return c
}

// cites returns the IDs in text, with ranges expanded. An ID of a known section with an
// unknown number is an error. Other words of that shape (RFC-1624) are ignored.
func (c citer) cites(text string) ([]string, error) {
	var ids []string
	for _, m := range idPattern.FindAllStringSubmatch(text, -1) {
		section, _, _ := strings.Cut(m[0], "-")
		if !c.sections[section] {
			continue
		}
		first, err := strconv.Atoi(m[1])
		last := first
		if err == nil && m[2] != "" {
			last, err = strconv.Atoi(m[2])
		}
		if err != nil || last < first {
			return nil, fmt.Errorf("invalid range %s: must be ID-FIRST..LAST", m[0])
		}
		for n := first; n <= last; n++ {
			id := section + "-" + strconv.Itoa(n)
			if !c.known[id] {
				return nil, fmt.Errorf("unknown ID %s: not in %s", id, rowsFile)
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// A test is a test function in a file, or a test script, which has no function name.
type test struct {
	file, name string
	source     string // of the function with its comments, or of the script
}

func (t test) String() string {
	if t.name == "" {
		return t.file
	}
	return t.file + ":" + t.name
}

// scan returns, for each ID, the tests below root that cite it, ordered by file and
// then by function.
func scan(root string, c citer) (map[string][]test, error) {
	cited := map[string][]test{}
	var faults []error
	add := func(t test, text string) {
		ids, err := c.cites(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", t, err))
		}
		for _, id := range ids {
			if n := len(cited[id]); n == 0 || cited[id][n-1] != t {
				cited[id] = append(cited[id], t)
			}
		}
	}
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		script := path.Ext(name) == ".txt" && strings.Contains("/"+name, "/testdata/")
		if d.IsDir() || !script && !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if script {
			add(test{file: name, source: string(src)}, scriptComments(src))
			return nil
		}
		return testComments(name, src, add)
	})
	return cited, errors.Join(append(faults, err)...)
}

// scriptComments returns the lines of a script that start with #.
func scriptComments(src []byte) string {
	var text strings.Builder
	for line := range strings.Lines(string(src)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			text.WriteString(line)
		}
	}
	return text.String()
}

// testComments calls add for each comment above or inside a test function.
func testComments(name string, src []byte, add func(test, string)) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !isTest(f) {
			continue
		}
		from := f.Pos()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		start := file.FileStart
		t := test{name, f.Name.Name, string(src[from-start : f.End()-start])}
		for _, comment := range file.Comments {
			if comment.Pos() >= from && comment.End() <= f.End() {
				add(t, comment.Text())
			}
		}
	}
	return nil
}

// isTest reports whether go test runs f as a check. Benchmarks do not count: they prove
// no requirement.
func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && f.Name.Name != "TestMain" && testName.MatchString(f.Name.Name)
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)`)
