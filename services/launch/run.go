package launch

import (
	"context"
	"errors"
	"time"

	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/spawn"
)

// exitWait is how long Run waits for the process of a failed node to end, so that
// the error can say how it ended.
const exitWait = 2 * time.Second

// Run runs a scenario on the rack and returns its report. progress, if not nil, is
// called a few times a second. If a process of nodes or the controller ends
// during the run, Run returns a *spawn.Error. All scenarios of one rack must have the
// same nodes; everything else may differ.
func (r *Rack) Run(ctx context.Context, q *controller.Request, progress func(*controller.Progress)) (*controller.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	report, err := r.client.Run(ctx, q, progress)
	if err != nil {
		return nil, r.cause(ctx, err)
	}
	return report, nil
}

// cause returns the error of the process or worker whose end caused err, or err if none
// has ended.
func (r *Rack) cause(ctx context.Context, err error) error {
	if controller.FailedNode(err) != "" {
		limit := time.NewTimer(exitWait)
		defer limit.Stop()
		select {
		case <-r.ctx.Done(): // its process or its worker has ended
		case <-limit.C:
			return err
		}
	}
	var ended *spawn.Error
	var left *WorkerError
	if cause := context.Cause(r.ctx); errors.As(cause, &ended) || errors.As(cause, &left) {
		return cause
	}
	if ctx.Err() != nil && context.Cause(r.ctx) == nil {
		return ctx.Err()
	}
	return err
}
