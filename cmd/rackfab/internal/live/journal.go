package live

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/controller"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

func journalCommand() *cobra.Command {
	c := &cobra.Command{Use: "journal", Short: "Save the journal of the running rack", Example: "rackfab journal save -"}
	c.AddCommand(client.RackCommand(&cobra.Command{
		Use: "save FILE", Short: "Write the journal up to the present instant; FILE - is standard output", Args: cobra.ExactArgs(1),
		Example: "rackfab journal save journal.yaml",
	}, func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error {
		out, err := api.GetJournal(c.Context(), &rackfabv1.GetJournalRequest{})
		if err != nil {
			return err
		}
		j := out.GetJournal()
		if err := saveJournal(c, args[0], j); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cli.Messages(c, args[0]), "%s: until %s, digest %016x\n", args[0], unit.Time(j.GetAtPs()), j.GetDigest())
		return err
	}))
	return c
}

// saveJournal writes a journal. It replaces a regular file atomically, and writes to any
// other file, such as a pipe, directly.
func saveJournal(c *cobra.Command, name string, j *rackfabv1.Journal) error {
	if is, err := os.Stat(name); name != cli.Stdout && (err != nil || is.Mode().IsRegular()) {
		return controller.WriteJournal(name, j)
	}
	return cli.CreateOutput(c, name, func(w io.Writer) error { return controller.PrintJournal(w, j) })
}
