package query

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// runFlag adds the flag --run, whose value choose completes.
func runFlag(c *cobra.Command, run *string, latest string) {
	c.Flags().StringVar(run, "run", "", "run ID, or the scheme of one stored run (default: "+latest+")")
}

// choose replaces the scheme of a run in *run by the run's ID. It returns an error if several runs have the
// scheme. An ID, and what is neither, stays as it is.
func choose(ctx context.Context, api rackfabv1.CollectorServiceClient, run *string) error {
	if *run == "" {
		return nil
	}
	out, err := api.ListRuns(ctx, &rackfabv1.ListRunsRequest{})
	if err != nil {
		return err
	}
	var ids []string
	for _, r := range out.GetRuns() {
		switch *run {
		case r.GetRun():
			return nil
		case r.GetScheme():
			ids = append(ids, r.GetRun())
		}
	}
	if len(ids) > 1 {
		return fmt.Errorf("--run %s: is the scheme of several runs, want one of %s", *run, strings.Join(ids, ", "))
	}
	if len(ids) == 1 {
		*run = ids[0]
	}
	return nil
}
