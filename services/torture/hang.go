package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// looks is the number of looks at the progress of a rack within its patience. They are
// counted, because no time passes while this process is suspended.
const looks = 20

// answerLimit is the time that a controller has to say why its rack does not advance.
const answerLimit = time.Second

// HangError means that a run has made no progress: no node has advanced in fabric time, and no
// fault has begun. The speed of a run does not matter.
type HangError struct {
	After   time.Duration
	At, End unit.Time
	Why     string // who waits for whom
}

// Error says where the run hangs, and who waits for whom.
func (e *HangError) Error() string {
	return fmt.Sprintf("no progress for %s at %s of %s: %s", e.After, e.At, e.End, e.Why)
}

var errStill = errors.New("no progress")

// Watch ends a run that makes no progress.
type Watch struct {
	Patience time.Duration
	// Progress returns a number that increases while the run makes progress. Its context
	// ends after a part of the patience.
	Progress func(context.Context) int
	// API returns the client of the present controller, nil for none.
	API func() rackfabv1.FabricServiceClient
	// Reached returns the instant that the run has reached, for a controller that does not answer.
	Reached func() unit.Time
	End     unit.Time
}

// Run calls play, and ends it with a *HangError if the run makes no progress for the patience.
func (w *Watch) Run(ctx context.Context, play func(context.Context) error) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go w.look(limited, cancel)
	err := play(limited)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(context.Cause(limited), errStill) && err != nil:
		return w.hang(ctx)
	}
	return err
}

// look calls cancel with errStill once the run has made no progress for the patience.
func (w *Watch) look(ctx context.Context, cancel context.CancelCauseFunc) {
	progress := func() int {
		limited, end := context.WithTimeout(ctx, w.Patience/looks)
		defer end()
		return w.Progress(limited)
	}
	look := time.NewTicker(w.Patience / looks)
	defer look.Stop()
	for still, last := 0, progress(); still < looks; still++ {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if now := progress(); now != last {
			still, last = -1, now
		}
	}
	cancel(errStill)
}

// hang describes why the run does not advance.
func (w *Watch) hang(ctx context.Context) *HangError {
	e := &HangError{After: w.Patience, At: w.Reached(), End: w.End, Why: "the controller is not there"}
	api := w.API()
	if api == nil {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	out, err := api.GetStatus(ctx, &rackfabv1.GetStatusRequest{})
	if err != nil {
		e.Why = "the controller does not answer: " + status.Convert(err).Message()
		return e
	}
	now := out.GetStatus()
	e.At, e.Why = unit.Time(now.GetAtPs()), now.GetStalled()
	for _, x := range now.GetWaits() {
		e.Why += fmt.Sprintf("; %s at %s waits for %q", x.GetProcess(), unit.Time(x.GetAtPs()), x.GetWaitsFor())
	}
	return e
}
