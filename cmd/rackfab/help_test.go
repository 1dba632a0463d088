package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// everyCommand calls do with root and with each command below it.
func everyCommand(do func(c *cobra.Command)) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		do(c)
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	visit(root())
}

// helpOf returns the help of a command.
func helpOf(t *testing.T, path string) string {
	t.Helper()
	c := root()
	var out strings.Builder
	c.SetOut(&out)
	c.SetArgs(append(strings.Fields(path)[1:], "--help"))
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The help of every command fits into 80 columns, and breaks its texts only between words.
func TestHelpFitsATerminal(t *testing.T) {
	everyCommand(func(c *cobra.Command) {
		help := helpOf(t, c.CommandPath())
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		text := c.Long
		if text == "" {
			text = c.Short
		}
		if words := strings.Join(strings.Fields(text), " "); !strings.HasPrefix(strings.Join(strings.Fields(help), " "), words) {
			t.Errorf("%s: the help does not begin with %q:\n%s", c.CommandPath(), words, help)
		}
	})
}

// The help of rackfab begins with three commands to try, and lists every command with its description.
func TestRootHelp(t *testing.T) {
	help := helpOf(t, "rackfab")
	before, _, _ := strings.Cut(help, "Usage:")
	for _, want := range []string{"\nStart here: run, up, explain\n  rackfab run ", "\n  rackfab up ", "\n  rackfab explain "} {
		if !strings.Contains(before, want) {
			t.Errorf("want %q before the usage:\n%s", want, help)
		}
	}
	flat := strings.Join(strings.Fields(help), " ")
	for _, c := range root().Commands() {
		if want := strings.Join(strings.Fields(c.Name()+" "+c.Short), " "); !strings.Contains(flat, want) {
			t.Errorf("the help lacks %q", want)
		}
	}
}
