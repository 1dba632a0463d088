package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/launch"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// stopWait bounds the orderly end of a live run.
const stopWait = 5 * time.Second

// attend waits for the end of the live run and prints how to repeat it.
func attend(c *cobra.Command, rack *launch.Rack, journal string) error {
	ctx := c.Context()
	if err := await(c, rack, journal); err != nil {
		return err
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	out, err := rack.Client().API().StopRack(stopping, &rackfabv1.StopRackRequest{})
	if status.Code(err) == codes.FailedPrecondition {
		return nil // another client has ended the live run
	}
	if err != nil {
		return cli.SignalError{Err: fmt.Errorf("the live run did not end in order: %w", client.Reword(err))}
	}
	if out.GetJournal() == nil {
		return nil // nothing has run
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s; to repeat it: rackfab replay %s\n", ending(out.GetJournal()), journal)
	return err
}

// await waits for Ctrl-C. It prints a message if another client takes the rack down or
// a node is lost. The processes keep running then, so that status and journal still
// answer and another live run can begin. Only the loss of the controller is an error.
func await(c *cobra.Command, rack *launch.Rack, journal string) error {
	down, failed := takenDown(c.Context(), rack.Client().API()), rack.Failed().Done()
	for {
		select {
		case <-c.Context().Done():
			return nil
		case <-down:
			down = nil
			_, _ = fmt.Fprintf(c.OutOrStdout(), "the rack was taken down; %s\nits processes stay: Ctrl-C ends them, `rackfab up --controller %s` begins the next live run, whose journal has that name then: this one gets a number behind it\n",
				kept(journal), rack.Address())
		case <-failed:
			failed = nil
			err := context.Cause(rack.Failed())
			var p *launch.ProcessError
			if !errors.As(err, &p) || !p.Node {
				return err
			}
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "rackfab: %v\nrackfab: the rack stands; its status and journal can still be asked for\n", err)
		}
	}
}

// takenDown returns a channel that is closed when a client ends the live run.
func takenDown(ctx context.Context, api rackfabv1.FabricServiceClient) <-chan struct{} {
	const seldom = 60_000 // ms between events, which are discarded
	down := make(chan struct{})
	go func() {
		events, err := api.Watch(ctx, &rackfabv1.WatchRequest{EveryMs: seldom})
		for err == nil {
			_, err = events.Recv()
		}
		if status.Code(err) == codes.FailedPrecondition {
			close(down)
		}
	}()
	return down
}

// kept returns how to repeat an ended live run from its journal, if there is one.
func kept(journal string) string {
	if _, err := os.Stat(journal); err != nil {
		return "nothing had run"
	}
	return "to repeat it: rackfab replay " + journal
}

// ending returns the instant at which a live run ended, and its digest.
func ending(j *rackfabv1.Journal) string {
	return fmt.Sprintf("ended at %s, digest %016x", unit.Time(j.GetAtPs()), j.GetDigest())
}
