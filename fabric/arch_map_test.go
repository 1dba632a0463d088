package fabric_test

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestMapsNameEveryPackage compares the packages of the module with the two maps: the
// comment of package fabric lists the packages below it, and README's "How it works" the
// others.
func TestMapsNameEveryPackage(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("fabric.go")
	if err != nil {
		t.Fatal(err)
	}
	inside := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		if entry, ok := strings.CutPrefix(line, "//\t"); ok {
			inside[strings.Fields(entry)[0]] = true
		}
	}
	others := mapOf(string(readme))
	for _, dir := range packages(t) {
		if below, ok := strings.CutPrefix(dir, "fabric/"); ok {
			if !inside[below] {
				t.Errorf("the comment of package fabric does not name %s", dir)
			}
		} else if dir != "fabric" && !named(others, dir) {
			t.Errorf(`README's "How it works" does not name %s`, dir)
		}
	}
	if !inside["nic"] || len(others) < 5 {
		t.Error("no map found: this test reads nothing")
	}
	if named(others, "services/nothing") {
		t.Error("a package that is not there counts as named")
	}
}

// mapOf returns the words of each entry of README's map, by the directory that begins
// the entry. An entry goes on in lines without a directory.
func mapOf(readme string) map[string][]string {
	_, section, _ := strings.Cut(readme, "\n## How it works\n")
	section, _, _ = strings.Cut(section, "\n## ")
	entries := map[string][]string{}
	dir := ""
	for line := range strings.Lines(section) {
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "    ") || len(words) == 0 {
			dir = ""
			continue
		}
		if strings.HasSuffix(words[0], "/") && strings.HasPrefix(line, "    "+words[0]) {
			dir = strings.TrimSuffix(words[0], "/")
		}
		if dir != "" {
			for _, w := range words {
				entries[dir] = append(entries[dir], strings.Trim(w, "();,:"))
			}
		}
	}
	return entries
}

// named reports whether a directory is an entry of the map, or a word of the entry that
// it is below. Words leave out "internal/".
func named(entries map[string][]string, dir string) bool {
	for at := dir; at != "."; at = path.Dir(at) {
		if words, ok := entries[at]; ok {
			rest := strings.TrimPrefix(strings.TrimPrefix(dir, at), "/")
			return rest == "" || slices.Contains(words, strings.TrimPrefix(rest, "internal/"))
		}
	}
	return false
}

// packages returns the directories of the module that hold Go code other than tests.
func packages(t *testing.T) (dirs []string) {
	for _, name := range goFiles(t) {
		if !strings.HasSuffix(name, "_test.go") {
			dirs = append(dirs, path.Dir(name))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
