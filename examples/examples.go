// Package examples holds scenarios to read, run and change: the files of this folder. Each says in
// its first lines what it shows and which commands show it. `rackfab init` writes them.
package examples

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

const (
	// Default is the example to begin with.
	Default = "victim-flow"

	extension = ".yaml"
	folder    = "examples/"      // of the files, as the commands in them name it
	command   = "#     rackfab " // begins a line with a command
)

// Example is the file of a scenario.
type Example struct {
	Name string // without extension; the name of the scenario too
	Text string
}

// All returns all examples, the default first, then by name.
func All() []Example {
	list, _ := files.ReadDir(".") // embedded, so it cannot fail
	var all []Example
	for _, file := range list {
		text, _ := files.ReadFile(file.Name()) // likewise
		all = append(all, Example{strings.TrimSuffix(file.Name(), extension), string(text)})
	}
	slices.SortStableFunc(all, func(a, b Example) int {
		switch Default {
		case a.Name:
			return -1
		case b.Name:
			return 1
		}
		return 0
	})
	return all
}

// Names returns the names of all examples in their order.
func Names() (list []string) {
	for _, e := range All() {
		list = append(list, e.Name)
	}
	return list
}

// Find returns the example of that name, and false if there is none.
func Find(name string) (Example, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(e Example) bool { return e.Name == name }); i >= 0 {
		return all[i], true
	}
	return Example{}, false
}

// Title returns what the example shows, a clause without a full stop.
func (e Example) Title() string {
	first, _, _ := strings.Cut(e.Text, "\n")
	_, title, _ := strings.Cut(first, ": ")
	return strings.TrimSuffix(title, ".")
}

// Commands returns the command lines that the example names, each from "rackfab" on.
func (e Example) Commands() (list []string) {
	for line := range strings.Lines(e.Text) {
		if rest, ok := strings.CutPrefix(line, command); ok {
			list = append(list, "rackfab "+strings.TrimRight(rest, "\n"))
		}
	}
	return list
}

// File returns the name of the example's file.
func (e Example) File() string { return e.Name + extension }

// At returns the example as a file with that path, which its commands name.
func (e Example) At(path string) Example {
	return Example{e.Name, strings.ReplaceAll(e.Text, folder+e.File(), path)}
}
