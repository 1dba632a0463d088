package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// withoutForeignBodies parses a file, that of a dependency without the bodies of its functions: they
// are not to be checked. A foreign package may have errors then, such as unused imports.
func withoutForeignBodies(set *token.FileSet, name string, text []byte) (*ast.File, error) {
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	module, wrong := filepath.Abs("../..")
	if err != nil || wrong != nil || strings.HasPrefix(name, module+string(filepath.Separator)) {
		return file, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	return file, nil
}

// All packages and their tests compile for the systems on which rackfab runs, and pass go vet there.
// The test checks types and generates no code: six builds take many times as long (make builds).
func TestOtherSystemsCompile(t *testing.T) {
	slowtest.Skip(t, "checks the types of every package for six systems")
	for _, target := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"} {
		t.Run(target, func(t *testing.T) {
			system, machine, _ := strings.Cut(target, "/")
			list, err := packages.Load(&packages.Config{
				Mode:  packages.LoadAllSyntax,
				Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine),
				Tests: true, ParseFile: withoutForeignBodies,
			}, "github.com/rackfab/rackfab/...")
			if err != nil || len(list) < 100 {
				t.Fatalf("%d packages: %v", len(list), err)
			}
			for _, p := range list {
				if strings.HasSuffix(p.ID, ".test") {
					continue // the generated program of its tests
				}
				for _, e := range p.Errors {
					t.Error(e)
				}
			}
			vetted(t, list)
		})
	}
}

// vetted applies the analyzers of go vet to the packages.
func vetted(t *testing.T, list []*packages.Package) {
	packages.Visit(list, nil, func(p *packages.Package) { p.IllTyped = false }) // see withoutForeignBodies
	graph, err := checker.Analyze(vet.Suite, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := 0
	for action := range graph.All() {
		if !action.IsRoot {
			continue
		}
		roots++
		if action.Err != nil {
			t.Error(action, action.Err)
		}
		for _, d := range action.Diagnostics {
			t.Errorf("%s: %s: %s", action.Package.Fset.Position(d.Pos), action.Analyzer, d.Message)
		}
	}
	if roots != len(list)*len(vet.Suite) {
		t.Errorf("%d results for %d packages and %d analyzers", roots, len(list), len(vet.Suite))
	}
}
