package docs_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/cc"
)

// TestSchemesAreListed compares the README's table of schemes, and the live guide's
// lists of schemes, with the table of package cc.
func TestSchemesAreListed(t *testing.T) {
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| [^|]+ \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(read(t, "../README.md"), -1) {
		rows = append(rows, row[1])
	}
	if d := cmp.Diff(cc.Names(), rows); d != "" {
		t.Errorf("schemes (-) and rows in README.md (+):\n%s", d)
	}
	live := read(t, "guide/live.md")
	for lead, want := range map[string][]string{
		"\\*\\*`scheme`\\*\\* chooses among ([^.]+)\\.":  cc.Choices(),
		"stopped\\. ([^.]+) must be chosen at the start": slices.DeleteFunc(cc.Names(), func(name string) bool { return slices.Contains(cc.Choices(), name) }),
	} {
		var names []string
		if list := regexp.MustCompile(lead).FindStringSubmatch(live); list != nil {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list[1], -1) {
				names = append(names, name[1])
			}
		}
		slices.Sort(want)
		slices.Sort(names)
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("schemes (-) and guide/live.md at %q (+):\n%s", lead, d)
		}
	}
}
