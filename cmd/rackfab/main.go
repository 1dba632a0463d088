// Command rackfab emulates a rack fabric. It runs scenarios, inspects topologies, and
// runs every process of a rack.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/batch"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/completion"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/inspect"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/live"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/processes"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/query"
)

func main() {
	ctx := cli.Interruptible()
	status, text := cli.Outcome(ctx, root().ExecuteContext(ctx))
	if text != "" {
		fmt.Fprintln(os.Stderr, "rackfab:", text)
	}
	os.Exit(status)
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "rackfab",
		Short:         "Emulate a rack fabric and its congestion management, exactly reproducibly",
		Example:       startHere,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       cli.Version(),
	}
	cli.Streams(c) // before cobra's commands, which keep the output
	cobra.AddTemplateFunc("versions", cli.Versions)
	c.SetVersionTemplate("{{versions}}\n")
	c.AddCommand(cli.VersionCommand())
	c.AddCommand(batch.Commands()...)
	c.AddCommand(live.Commands()...)
	c.AddCommand(inspect.Commands()...)
	c.AddCommand(query.Commands()...)
	c.AddCommand(processes.Commands()...)
	addCobraCommands(c)
	addUsage(c)
	addHelp(c)
	completion.Add(c)
	return c
}

// groups are the groups of commands in `rackfab --help`.
var groups = []struct {
	title    string
	commands []string
}{
	{"Batch runs:", []string{"init", "run", "sweep", "torture", "report", "export", "import", "scenario", "topology", "schemes"}},
	{"Live racks:", []string{"up", "soak", "down", "status", "watch", "page", "stats", "settings", "pause", "resume", "step", "pace"}},
	{"Changes of a live rack:", []string{"burst", "stop-flow", "put", "get", "send", "set", "scheme", "link", "freeze", "thaw", "impair", "journal", "replay"}},
	{"Analysis:", []string{"traces", "trace", "query", "runs", "capture", "explain"}},
	{"Processes, containers, keys:", []string{"bus", "controller", "nic", "switch", "worker", "collector", "compose", "kubernetes", "certs", "health"}},
	{"Other commands:", []string{"completion", "help", "version"}},
}

// addCobraCommands adds the commands help and completion, which cobra otherwise adds when root
// runs, with an example each.
func addCobraCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "rackfab help run"
		case "completion":
			c.Example = "rackfab completion bash > rackfab.bash"
			for _, shell := range c.Commands() {
				shell.Example = "rackfab completion " + shell.Name()
			}
		}
	}
}

// addUsage puts the commands below root into their groups. It makes usage errors refer to
// the correct usage.
func addUsage(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.commands, c.Name()) {
				c.GroupID = g.title
			}
		}
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%s; `%s --help` lists the flags", flagFault(err), c.CommandPath())
	})
	checkUsage(root)
}

// allowed describes the values of flags by the type of the flag.
var allowed = map[string]string{
	"bool": "true or false", "duration": "a duration such as 90s or 5m", "float64": "a number",
	"int": "a whole number", "int32": "a whole number of at most 32 bits", "uint32": "a whole number, 0 or more, of at most 32 bits",
	"uint64": "a whole number, 0 or more, of at most 64 bits",
}

// flagFault returns the text of an error of pflag. Of an invalid value it says what is allowed.
func flagFault(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) || allowed[invalid.GetFlag().Value.Type()] == "" {
		return err.Error()
	}
	f := invalid.GetFlag()
	return fmt.Sprintf("--%s: invalid value %q: must be %s", f.Name, invalid.GetValue(), allowed[f.Value.Type()])
}

// checkUsage makes c and the commands below it print their usage after missing or excess
// arguments or flags, and report the invalid values of all flags at once.
func checkUsage(c *cobra.Command) {
	for _, below := range c.Commands() {
		checkUsage(below)
	}
	if c.HasParent() && !c.Runnable() {
		c.RunE = runSubcommand
	}
	if c.Example != "" && c.HasParent() {
		c.Example = "  " + strings.ReplaceAll(c.Example, "\n", "\n  ")
	}
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil {
			err = c.ValidateRequiredFlags()
		}
		if err != nil {
			return fmt.Errorf("%w; usage: %s", err, c.UseLine())
		}
		return cli.Faults(c)
	}
}

// runSubcommand is the body of a command that only groups subcommands.
func runSubcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var names []string
	for _, below := range c.Commands() {
		names = append(names, below.Name())
	}
	return fmt.Errorf("%s: unknown command %q: must be one of %s", c.CommandPath(), args[0], strings.Join(names, ", "))
}
