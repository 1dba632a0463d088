package launch

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/spawn"
)

// exitWait is how long Run waits for the process of a failed node to end, so that
// the error can say how it ended.
const exitWait = 2 * time.Second

// Run runs a scenario on the rack and returns its report. progress, if not nil, is
// called a few times a second. If a process of nodes or the controller ends during the run
// and does not come back, Run returns a *spawn.Error; without Options.Recover at once. All
// scenarios of one rack must have the same nodes; everything else may differ.
func (r *Rack) Run(ctx context.Context, q *controller.Request, progress func(*controller.Progress)) (*controller.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	for losses := 0; ; losses++ { // of the controller
		report, err := r.client.Run(ctx, q, progress)
		if err == nil {
			report.Recoveries += losses
			return report, nil
		}
		if status.Code(err) != codes.Unavailable || losses == maxRestarts || r.controllerBack(ctx) != nil {
			return nil, r.cause(ctx, err)
		}
	}
}

// controllerBack waits until the controller serves again.
func (r *Rack) controllerBack(ctx context.Context) error {
	if r.o.Recover == 0 {
		return errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return health.Await(ctx, r.address, r.who, identity.Controller)
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
