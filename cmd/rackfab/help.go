package main

import (
	"fmt"
	"go/doc/comment"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is the width of help texts in columns: that of a terminal which nobody has resized.
const helpWidth = 80

// startHere is what the help of rackfab begins with.
const startHere = `  rackfab run --bus memory   # a burst under five schemes, and who pays for it
  rackfab up                 # the same rack live, with a page in the browser
  rackfab explain pause pcn-16to2 --scheme pfc --link 's1->s0'   # why it paused`

// addHelp makes the help of root and of the commands below it fit into helpWidth columns, with
// breaks between words only.
func addHelp(root *cobra.Command) {
	root.SetUsageFunc(func(c *cobra.Command) error { return writeUsage(c.OutOrStderr(), c) })
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		w := c.OutOrStdout()
		text := c.Long
		if text == "" {
			text = c.Short
		}
		_, _ = fmt.Fprintf(w, "%s\n\n", wrap(text, helpWidth)) // the next write reports the error
		if err := writeUsage(w, c); err != nil {
			c.PrintErrln(err)
		}
	})
}

// writeUsage writes the usage of a command, its examples, the commands below it, and its flags.
func writeUsage(w io.Writer, c *cobra.Command) error {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s\n%s\n\n", title, strings.TrimRight(text, "\n"))
		}
	}
	if !c.HasParent() {
		section("Start here: run, up, explain", c.Example)
	}
	usage := ""
	if c.Runnable() && c.RunE != nil && !c.HasAvailableSubCommands() {
		usage = hang("  ", c.UseLine())
	} else {
		usage = "  " + c.CommandPath() + " [command]"
	}
	section("Usage:", usage)
	if c.HasParent() {
		section("Examples:", c.Example)
	}
	for _, g := range c.Groups() {
		section(g.Title, commandsOf(c, g.ID))
	}
	section("Commands:", commandsOf(c, ""))
	section("Flags:", c.LocalFlags().FlagUsagesWrapped(helpWidth))
	if c.HasAvailableSubCommands() {
		section("More about a command:", "  "+c.CommandPath()+" [command] --help")
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(b.String(), "\n"))
	return err
}

// commandsOf lists the commands of a group below c, with their descriptions.
func commandsOf(c *cobra.Command, group string) string {
	var lines []string
	for _, below := range c.Commands() {
		if below.GroupID == group && (below.IsAvailableCommand() || below.Name() == "help") { // cobra hides help
			lines = append(lines, hang(fmt.Sprintf("  %-*s ", c.Commands()[0].NamePadding(), below.Name()), below.Short))
		}
	}
	return strings.Join(lines, "\n")
}

// hang returns text after a heading, with further lines indented as far as the heading is wide.
func hang(heading, text string) string {
	indent := "\n" + strings.Repeat(" ", len(heading))
	return heading + strings.ReplaceAll(wrap(text, helpWidth-len(heading)), "\n", indent)
}

// wrap fills the paragraphs of a text to a width. Indented lines stay as they are.
func wrap(text string, width int) string {
	printer := comment.Printer{TextWidth: width, TextCodePrefix: "  "}
	return strings.TrimRight(string(printer.Text(new(comment.Parser).Parse(text))), "\n")
}
