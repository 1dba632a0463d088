package docs_test

import (
	"regexp"
	"slices"
	"strings"
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

// The additions of guide/scheme.md have a place in the files of today: each anchor is in one line,
// and the one in the README is the last scheme, before the guide's own. TestSchemeGuide of e2e, which is slow,
// makes the additions.
func TestSchemeGuideHasItsAnchors(t *testing.T) {
	places := regexp.MustCompile("(?m)^`([^`]+)`, below `(.+)`:$").FindAllStringSubmatch(read(t, "guide/scheme.md"), -1)
	names := slices.DeleteFunc(cc.Names(), func(name string) bool { return name == "brake" })
	last := "| `" + names[len(names)-1] + "` |"
	if !slices.ContainsFunc(places, func(p []string) bool { return p[1] == "README.md" && p[2] == last }) {
		t.Errorf("guide/scheme.md adds no row to README.md below %q, the last scheme", last)
	}
	for _, p := range places {
		lines := 0
		for line := range strings.Lines(read(t, "../"+p[1])) {
			if strings.Contains(line, p[2]) {
				lines++
			}
		}
		if lines != 1 {
			t.Errorf("guide/scheme.md inserts below %q: %s has %d such lines, want 1", p[2], p[1], lines)
		}
	}
}
