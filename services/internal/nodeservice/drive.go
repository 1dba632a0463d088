package nodeservice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rackfab/rackfab/fabric/scenariofile"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus/faulty"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
	"github.com/rackfab/rackfab/services/internal/serve"
)

var errStopped = status.Error(codes.Unavailable, "the node was stopped")

// drive executes the controller's steps and sends it the events of the run, until the
// controller sends stop or leaves.
func (r *run) drive(ctx context.Context, stream rackfabv1.NodeService_RunServer, steps <-chan *rackfabv1.RunRequest) error {
	ready := &rackfabv1.RunResponse_Ready{Ready: &rackfabv1.RunReady{Links: int32(r.runner.Links())}}
	if err := stream.Send(&rackfabv1.RunResponse{Event: ready}); err != nil {
		return err
	}
	beat := time.NewTicker(r.beatEvery())
	defer beat.Stop()
	for {
		var events []*rackfabv1.RunResponse
		var err error
		select {
		case step := <-steps:
			last, err := r.step(ctx, step)
			if err != nil || last {
				return err
			}
		case answer := <-r.answers:
			if events, err = answer(); err != nil {
				return err
			}
		case <-beat.C:
			if r.stop != nil { // since start
				events = []*rackfabv1.RunResponse{{Event: &rackfabv1.RunResponse_Progress{Progress: r.progress()}}}
			}
		case err := <-r.ended:
			if err == nil || errors.Is(err, context.Canceled) {
				return errStopped
			}
			return status.Error(codes.Internal, err.Error())
		case <-ctx.Done():
			return errStopped
		}
		for _, e := range events {
			if err := stream.Send(e); err != nil {
				return err
			}
		}
	}
}

// batchBeat is the interval at which a process in a batch run sends its progress, which the
// controller shows to its client.
const batchBeat = 100 * time.Millisecond

// beatEvery returns the interval at which the process sends its progress. In a live run
// the answers to grants report the progress, and a beat only shows that the process is
// alive.
func (r *run) beatEvery() time.Duration {
	if r.live {
		return serve.BeatEvery
	}
	return batchBeat
}

// receive forwards the controller's steps. It closes the channel when the stream
// ends.
func receive(ctx context.Context, stream rackfabv1.NodeService_RunServer) <-chan *rackfabv1.RunRequest {
	steps := make(chan *rackfabv1.RunRequest)
	go func() {
		defer close(steps)
		for {
			step, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case steps <- step:
			case <-ctx.Done():
				return
			}
		}
	}()
	return steps
}

// step executes a step of the controller. last reports whether it ends the run for the
// process. A nil step means that the controller has left.
func (r *run) step(ctx context.Context, step *rackfabv1.RunRequest) (last bool, err error) {
	started := r.stop != nil
	switch {
	case step == nil && !started:
		return true, status.Error(codes.Canceled, "the controller left before start")
	case step == nil:
		return true, nil
	case step.GetStop() != nil && started:
		r.stopped = true
		return true, nil
	case step.GetImpair() != nil:
		return false, r.impair(step.GetImpair())
	case step.GetStart() != nil && !started:
		r.start(ctx)
		return false, nil
	case step.GetGrant() != nil && started && r.live:
		return false, r.grant(step.GetGrant())
	}
	return true, status.Error(codes.FailedPrecondition, "step out of order: want config, start, grants in a live run, and stop; impair is allowed after config")
}

// grant applies the changes and captures of a grant, and lets the nodes advance to
// its end.
func (r *run) grant(g *rackfabv1.RunGrant) error {
	until, scenario := unit.Time(g.GetUntilPs()), r.scenario.Load()
	if until <= r.granted {
		return status.Errorf(codes.FailedPrecondition, "grant until %s, must be after the previous one until %s", until, r.granted)
	}
	for i, t := range g.GetChanges() {
		field := fmt.Sprintf("grant.changes[%d]", i)
		at := unit.Time(t.GetAtPs())
		if at < r.granted {
			return status.Errorf(codes.FailedPrecondition, "change at %s, before the end of the previous grant at %s", at, r.granted)
		}
		c, err := changes.Read(t.GetChange(), at)
		if err != nil {
			return serve.Within(field, err)
		}
		if scenario, err = scenariofile.Append(scenario, c); err != nil {
			return serve.Within(field, changes.Invalid(err))
		}
	}
	if len(g.GetChanges()) > 0 {
		r.scenario.Store(scenario)
		r.plan(scenario, r.granted)
		if selection := r.export.extend(scenario, g.GetChanges()); selection != nil {
			r.runner.Follow(selection)
		}
	}
	if g.GetCaptures() != nil {
		if err := r.record(g.GetCaptures()); err != nil {
			return err
		}
	}
	r.granted = until
	r.runs.Grant()
	r.runner.Grant(until)
	return nil
}

// impair sets the impairment of the envelopes that the process sends from now on. The
// processes draw their faults independently of each other.
func (r *run) impair(i *rackfabv1.BusImpairment) error {
	if err := changes.CheckImpairment("impair", i); err != nil {
		return err
	}
	rates := faulty.Rates{Drop: i.GetLose(), Repeat: i.GetRepeat(), Delay: i.GetDelay()}
	seed := i.GetSeed() ^ xxhash.Sum64String(r.name)
	if faults := r.faults.Load(); faults != nil {
		faults.Impair(rates, seed)
		return nil
	}
	faults := faulty.Wrap(r.conn, rates, seed)
	r.faults.Store(faults)
	r.runner.PublishOn(faults)
	return nil
}

// envelopeFaults returns the number of envelopes with a fault of the impairment.
func (r *run) envelopeFaults() faulty.Counts {
	if faults := r.faults.Load(); faults != nil {
		return faults.Counts()
	}
	return faulty.Counts{}
}
