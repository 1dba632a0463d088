package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// silence ends the call of a client whose controller sends nothing for some time although a
// run has begun, because its process is frozen or cut off. gRPC's own pings take longer.
type silence struct {
	limit time.Duration
	ticks atomic.Int64 // that the client has waited for the next message; negative while it does not
}

// watch ends the call, with an error as the cause, if it waits for longer than the limit,
// until ctx ends. It counts ticks instead of time, because no ticks pass while this process
// itself is suspended.
func (s *silence) watch(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ticks := s.ticks.Load()
			if ticks < 0 || !s.ticks.CompareAndSwap(ticks, ticks+1) {
				continue // the client does not wait, or has heard from the controller just now
			}
			if ticks+1 > int64(s.limit/reportEvery) {
				end(&silentError{s.limit})
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// silenced returns the error with which watch has ended a call, nil if it has not.
func silenced(ctx context.Context) error {
	var err *silentError
	if errors.As(context.Cause(ctx), &err) {
		return err
	}
	return nil
}

// silentError means that a controller has been silent for longer than the limit.
type silentError struct{ limit time.Duration }

// Error says what the silence means.
func (e *silentError) Error() string {
	return fmt.Sprintf("the controller has been silent for more than %v: its process is frozen or cut off", e.limit)
}

// wait begins a wait for the next message, and heard ends it.
func (s *silence) wait()  { s.ticks.Store(0) }
func (s *silence) heard() { s.ticks.Store(-1) }
