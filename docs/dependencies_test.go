package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDependenciesAreExplained compares dependencies.md with go.mod: a row for
// each module that is required directly, and no other row.
func TestDependenciesAreExplained(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\| .+ \\|$").FindAllStringSubmatch(read(t, "dependencies.md"), -1)
	var explained []string
	for _, row := range rows {
		explained = append(explained, row[1])
	}
	slices.Sort(explained)
	if d := cmp.Diff(directModules(read(t, "../go.mod")), explained); d != "" {
		t.Errorf("modules in go.mod (-) and rows in dependencies.md (+):\n%s", d)
	}
}

func TestDirectModules(t *testing.T) {
	const mod = `module example.org/m

go 1.26.0

require example.org/single v1.0.0

require (
	example.org/b v1.2.3
	example.org/a/v2 v2.0.0-rc.1 // pinned
)

require (
	example.org/c v1.0.0 // indirect
)

tool example.org/b/cmd
`
	want := []string{"example.org/a/v2", "example.org/b", "example.org/single"}
	if d := cmp.Diff(want, directModules(mod)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// directModules lists the modules that the text of a go.mod requires directly,
// sorted.
func directModules(mod string) []string {
	var direct []string
	for _, m := range regexp.MustCompile(`(?m)^(?:require |\t)(\S+) v\S+(.*)$`).FindAllStringSubmatch(mod, -1) {
		if !strings.Contains(m[2], "// indirect") {
			direct = append(direct, m[1])
		}
	}
	slices.Sort(direct)
	return direct
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
