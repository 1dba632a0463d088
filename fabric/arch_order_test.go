package fabric_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// backwardShare is the permitted share of references that run backwards in a package.
const backwardShare = 0.1

// TestFilesOfAPackageHaveAnOrder orders the files of a package so that as few references
// as possible run from a file to an earlier one, and bounds their share. A reference is
// a name declared at package level in one file, or a method whose name is unique in the
// package, and used in another; it counts once per pair of files.
func TestFilesOfAPackageHaveAnOrder(t *testing.T) {
	dirs := []string{
		"../fabric/nic", "../fabric/nic/qp", "../fabric/nic/work", "../fabric/nic/control",
		"../fabric/topology", "../fabric/topology/routes", "../fabric/scenariofile", "../cmd/rackfab",
		"../fabric/nic/notify", "../fabric/nic/rx", "../fabric/nic/shaper", "../fabric/nic/uet",
		"../services/controller", "../services/internal/nodeservice", "../docs/internal/requirements",
	}
	below, err := filepath.Glob("../cmd/rackfab/internal/*")
	if err != nil || len(below) < 5 {
		t.Fatalf("%d packages below cmd/rackfab: %v", len(below), err)
	}
	for _, dir := range slices.Concat(dirs, below) {
		names, uses := references(t, dir)
		order, backward := bestOrder(uses)
		total := sum(uses)
		if float64(backward) > backwardShare*float64(total) {
			t.Errorf("%s: %d of %d references between files run backwards, want at most %.0f %%; best order:", dir, backward, total, 100*backwardShare)
			for i, at := range order {
				for _, earlier := range order[:i] {
					if uses[at][earlier] > 0 {
						t.Errorf("    %s uses %d names of %s", names[at], uses[at][earlier], names[earlier])
					}
				}
			}
		}
	}
}

func TestBestOrderFindsTheOnlyCycle(t *testing.T) {
	// 0 -> 1 -> 2 in any order of files; one reference closes the cycle.
	uses := [][]int{{0, 3, 1}, {0, 0, 2}, {1, 0, 0}}
	order, backward := bestOrder(uses)
	if backward != 1 || !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("order %v with %d references backwards, want 0 1 2 with 1", order, backward)
	}
}

// references returns the files of a package, and how many names each file uses of each
// other one.
func references(t *testing.T, dir string) (names []string, uses [][]int) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files, names = append(files, f), append(names, filepath.Base(p))
	}
	decls := declared(files)
	for i, f := range files {
		row := make([]int, len(files))
		for name := range used(f) {
			if at := decls[name]; len(at) == 1 && at[0] != i {
				row[at[0]]++
			}
		}
		uses = append(uses, row)
	}
	return names, uses
}

// declared returns the files that declare each name at package level. Names of methods
// begin with a dot.
func declared(files []*ast.File) map[string][]int {
	decls := map[string][]int{}
	add := func(name string, file int) { decls[name] = append(decls[name], file) }
	for i, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					add("."+d.Name.Name, i)
				} else {
					add(d.Name.Name, i)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name.Name, i)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							add(n.Name, i)
						}
					}
				}
			}
		}
	}
	return decls
}

// used returns the names that a file uses and does not declare itself, with a dot for
// those behind one. Names of other packages are left out.
func used(f *ast.File) map[string]bool {
	names, other := map[string]bool{}, map[*ast.Ident]bool{f.Name: true} // main is a package, too
	imports := map[string]bool{}
	for _, spec := range f.Imports {
		name := filepath.Base(strings.Trim(spec.Path.Value, `"`))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			other[n.Sel] = true
			if x, ok := n.X.(*ast.Ident); !ok || !imports[x.Name] {
				names["."+n.Sel.Name] = true
			}
		case *ast.KeyValueExpr: // the key may be a field
			if key, ok := n.Key.(*ast.Ident); ok {
				other[key] = true
			}
		case *ast.Field:
			for _, name := range n.Names {
				other[name] = true
			}
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !other[id] && id.Obj == nil {
			names[id.Name] = true
		}
		return true
	})
	return names
}

// bestOrder returns an order of the files, improved until moving one file does not help,
// and the number of references that run backwards in it.
func bestOrder(uses [][]int) (order []int, backward int) {
	for i := range uses {
		order = append(order, i)
	}
	balance := func(i int) (n int) {
		for j := range uses {
			n += uses[i][j] - uses[j][i]
		}
		return n
	}
	slices.SortStableFunc(order, func(a, b int) int { return balance(b) - balance(a) })
	backward = against(uses, order)
	for improved := true; improved; {
		improved = false
		for from := range order {
			for to := range order {
				moved := slices.Insert(slices.Delete(slices.Clone(order), from, from+1), to, order[from])
				if n := against(uses, moved); n < backward {
					order, backward, improved = moved, n, true
				}
			}
		}
	}
	return order, backward
}

// against counts the references that run backwards in an order.
func against(uses [][]int, order []int) (n int) {
	for i, at := range order {
		for _, earlier := range order[:i] {
			n += uses[at][earlier]
		}
	}
	return n
}

func sum(uses [][]int) (n int) {
	for _, row := range uses {
		for _, v := range row {
			n += v
		}
	}
	return n
}
