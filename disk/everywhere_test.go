package disk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writers are the functions of package os that write, replace or rename a file.
var writers = []string{"Create", "CreateTemp", "WriteFile", "OpenFile", "Rename", "Link", "Symlink", "Truncate"}

// elsewhere lists the calls of writers outside this package, with the reason.
var elsewhere = map[string]string{
	"services/collector/store/sample.go: Rename": "bbolt has written and synced the file",
	"services/collector/store/damage.go: Rename": "the file keeps its content, and gets a free name",
	"services/controller/journal.go: OpenFile":   "reserves the name of an earlier journal",
	"services/controller/journal.go: Rename":     "the earlier journal keeps its content",
	"services/torture/processes/rack.go: Create": "a log grows while its processes run",
}

// All files of the product are written by this package, so that no error leaves a part of one or destroys an older one.
func TestFilesAreWrittenHere(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || name == "disk"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for _, call := range writes(t, path) {
			found[name+": "+call] = true
			if elsewhere[name+": "+call] == "" {
				t.Errorf("%s calls os.%s: call package disk instead", name, call)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for call := range elsewhere {
		if !found[call] {
			t.Errorf("%s: there is no such call any more", call)
		}
	}
}

// writes returns the writers that a file names, by whatever name it imports package os.
func writes(t *testing.T, path string) (calls []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, i := range file.Imports {
		if i.Path.Value == `"os"` {
			if name = "os"; i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(writers, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == name {
				calls = append(calls, s.Sel.Name)
			}
		}
		return true
	})
	return calls
}

// The test above finds the calls of a file, whatever it calls package os.
func TestWritesAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	source := "package a\n\nimport system \"os\"\n\nvar create = system.Create\n\nfunc f() { _ = system.WriteFile(\"a\", nil, 0) }\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := writes(t, path); !slices.Equal(got, []string{"Create", "WriteFile"}) {
		t.Errorf("found %q", got)
	}
}
