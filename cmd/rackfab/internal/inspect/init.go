package inspect

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/examples"
)

func initCommand() *cobra.Command {
	template := ""
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a commented scenario that runs",
		Long: "Write a scenario with comments into DIR, by default this folder, and print the commands that show what it is about. No file is overwritten.\n\n" +
			"The templates are\n" + templateList(),
		Example: "rackfab init\nrackfab init --template fat-tree racks",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return writeExample(c.OutOrStdout(), template, strings.Join(args, ""))
		},
	}
	cli.ChoiceFlag(c, &template, "template", "template of the scenario, see above", examples.Names()...)
	return c
}

// templateList lists the templates and what each shows, as a list of go/doc.
func templateList() string {
	var b strings.Builder
	for _, e := range examples.All() {
		fmt.Fprintf(&b, "  - %s: %s\n", e.Name, e.Title())
	}
	return b.String()
}

// writeExample writes the example of that name into a folder, which it creates, and prints what to type
// next.
func writeExample(w io.Writer, name, dir string) error {
	e, _ := examples.Find(name) // the flag offers no other
	path := filepath.Join(dir, e.File())
	e = e.At(filepath.ToSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := cli.NewFile(path, "choose another folder, or rename it", func(w io.Writer) error {
		_, err := io.WriteString(w, e.Text)
		return err
	}); err != nil {
		return err
	}
	next := append(e.Commands(), "rackfab up "+filepath.ToSlash(path))
	_, err := fmt.Fprintf(w, "%s: %s\n\nnext:\n  %s\n", path, e.Title(), strings.Join(next, "\n  "))
	return err
}
