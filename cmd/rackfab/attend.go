package main

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
)

// stopWait is how long a live run may take to end in order.
const stopWait = 5 * time.Second

// attend waits for the end, and says how the rack is repeated.
func attend(c *cobra.Command, rack *launch.Rack, journal string) error {
	ctx := c.Context()
	if err := await(c, rack, journal); err != nil {
		return err
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	out, err := rack.Client().API().StopRack(stopping, &rackfabv1.StopRackRequest{})
	if status.Code(err) == codes.FailedPrecondition {
		return nil // it has been taken down
	}
	if err != nil {
		return parting{fmt.Errorf("the live run did not end in order: %w", plain(err))}
	}
	if out.GetJournal() == nil {
		return nil // nothing has run
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s; to repeat it: rackfab replay %s\n", ending(out.GetJournal()), journal)
	return err
}

// await waits for Ctrl-C. That somebody takes the live run down is told, and so is a
// node that is lost: the processes stay, for status and journal or for the next live
// run. The loss of the controller is the error.
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

// takenDown gives a channel that is closed when somebody ends the live run.
func takenDown(ctx context.Context, api rackfabv1.FabricServiceClient) <-chan struct{} {
	const seldom = 60_000 // ms between events, which nobody reads
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

// kept says how a live run that has ended is repeated by its journal, if it has one.
func kept(journal string) string {
	if _, err := os.Stat(journal); err != nil {
		return "nothing had run"
	}
	return "to repeat it: rackfab replay " + journal
}

// ending says where a live run has ended.
func ending(j *rackfabv1.Journal) string {
	return fmt.Sprintf("ended at %s, digest %016x", unit.Time(j.GetAtPs()), j.GetDigest())
}
