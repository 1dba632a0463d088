package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
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

// All packages and their tests compile for the systems on which rackfab runs. The test checks
// types and generates no code: six builds take many times as long.
func TestOtherSystemsCompile(t *testing.T) {
	if os.Getenv("RACKFAB_SLOW") == "" {
		t.Skip("takes about a minute: set RACKFAB_SLOW=1")
	}
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
		})
	}
}
