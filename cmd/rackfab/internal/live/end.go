package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/launch"
	"github.com/rackfab/rackfab/services/spawn"
)

// downCommand returns the command that ends a live run, wherever it was started.
func downCommand() *cobra.Command {
	return client.RackCall(&cobra.Command{
		Use: "down", Short: "End the live run; its processes stay up", Args: cobra.NoArgs, Example: "rackfab down",
		Long: "End the live run. Its processes stay up: those of `rackfab up` end with Ctrl-C there.\n" +
			"`rackfab up --controller HOST:PORT` starts the next live run on them.",
	}, rackfabv1.FabricServiceClient.StopRack, client.Constant(&rackfabv1.StopRackRequest{}),
		func(out *rackfabv1.StopRackResponse) string { return endText(out.GetJournal()) })
}

// stopWait bounds the orderly end of a live run.
const stopWait = 5 * time.Second

// untilEnd waits for the end of the live run and prints how to repeat it.
func untilEnd(c *cobra.Command, rack *launch.Rack, journal string) error {
	if err := waitForSignal(c, rack, journal); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), stopWait)
	defer cancel()
	out, err := rack.Client().API().StopRack(ctx, &rackfabv1.StopRackRequest{})
	switch {
	case status.Code(err) == codes.FailedPrecondition: // another client has ended the live run
		return nil
	case err != nil:
		return cli.SignalError{Err: fmt.Errorf("the live run did not end cleanly: %w", client.Reword(err))}
	case out.GetJournal() == nil: // the clock never ran
		if _, err := os.Stat(journal); err != nil {
			return nil // there are no changes either
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "ended; %s\n", replayText(journal))
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s; to repeat it: rackfab replay %s\n", endText(out.GetJournal()), journal)
	return err
}

// waitForSignal waits for Ctrl-C. It prints a message if another client ends the live
// run or a node fails. The processes keep running then, so that status and journal still
// answer and another live run can start. Only the loss of the controller is an error.
func waitForSignal(c *cobra.Command, rack *launch.Rack, journal string) error {
	down, failed := runEnded(c.Context(), rack.Client().API()), rack.Failed().Done()
	for {
		select {
		case <-c.Context().Done():
			return nil
		case <-down:
			down = nil
			_, _ = fmt.Fprintf(c.OutOrStdout(), "another client ended the live run; %s\nthe processes stay up: Ctrl-C ends them, `rackfab up --controller %s` starts the next live run, which takes over the journal's name: this journal gets a number\n",
				replayText(journal), rack.Address())
		case <-failed:
			failed = nil
			err := context.Cause(rack.Failed())
			var p *spawn.Error
			var w *launch.WorkerError
			if !errors.As(err, &w) && (!errors.As(err, &p) || p.Nodes == 0) {
				return err
			}
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "rackfab: %v\nrackfab: the live run has failed; status and journal are still available\n", err)
		}
	}
}

// runEnded returns a channel that is closed when a client ends the live run.
func runEnded(ctx context.Context, api rackfabv1.FabricServiceClient) <-chan struct{} {
	const everyMs = 60_000 // the events are discarded
	ended := make(chan struct{})
	go func() {
		err := error(nil)
		for ctx.Err() == nil && status.Code(err) != codes.FailedPrecondition { // otherwise the controller is restarted
			var events rackfabv1.FabricService_WatchClient
			events, err = api.Watch(ctx, &rackfabv1.WatchRequest{EveryMs: everyMs}, grpc.WaitForReady(true))
			for err == nil {
				_, err = events.Recv()
			}
		}
		if ctx.Err() == nil {
			close(ended)
		}
	}()
	return ended
}

// replayText returns how to repeat an ended live run from its journal, if there is one.
func replayText(journal string) string {
	text, err := os.ReadFile(journal)
	switch {
	case err != nil:
		return "its clock never ran"
	case controller.Unstepped(text):
		return "its clock never ran; to start it again with its changes: rackfab up " + journal
	}
	return "to repeat it: rackfab replay " + journal
}

// endText returns the instant at which a live run ended, and its digest.
func endText(j *rackfabv1.Journal) string {
	return fmt.Sprintf("ended at %s, digest %016x", unit.Time(j.GetAtPs()), j.GetDigest())
}
