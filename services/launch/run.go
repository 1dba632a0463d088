package launch

import (
	"context"
	"errors"
	"time"

	"github.com/rackfab/rackfab/services/controller"
)

// blameLimit is how long Run waits for the end of the process of a node that
// the controller has lost, to say how it ended.
const blameLimit = 2 * time.Second

// Run runs a scenario on the rack and gives its outcome; progress, if not nil,
// is called a few times a second. A node's or the controller's process that ends
// in the run ends it with a ProcessError. Scenarios of one rack differ in
// whatever they like, but not in their nodes.
func (r *Rack) Run(ctx context.Context, q controller.Request, progress func(controller.Progress)) (*controller.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	report, err := r.client.Run(ctx, q, progress)
	if err != nil {
		return nil, r.blame(ctx, err)
	}
	return report, nil
}

// blame finds the process behind an error of a run; without one it is err.
func (r *Rack) blame(ctx context.Context, err error) error {
	if p := r.nodes[controller.FailedNode(err)]; p != nil {
		limit := time.NewTimer(blameLimit)
		defer limit.Stop()
		select {
		case <-p.done:
			return p.failure("")
		case <-limit.C:
			return err
		}
	}
	var ended *ProcessError
	if errors.As(context.Cause(r.ctx), &ended) {
		return ended
	}
	if ctx.Err() != nil && context.Cause(r.ctx) == nil {
		return ctx.Err()
	}
	return err
}
