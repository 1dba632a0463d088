// Package startup lets a process wait for what it needs at its start, so that the processes
// of a rack may start in any order. It knows attempts and time; it does not know what a
// process needs.
package startup

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Limit is the default time that a process waits for each thing that it needs.
const Limit = 30 * time.Second

// Pauses between attempts, in wall time. A bus that was out of reach is found soon, and the
// members of a large rack do not flood one that starts.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Await calls attempt until it returns an error that absent does not report, or none, and
// returns the result. It logs once that the process waits for what. After limit it returns the
// last error, with what; a limit of 0 permits one attempt. After the end of ctx it returns the
// cause.
func Await[T any](ctx context.Context, limit time.Duration, what string, absent func(error) bool, attempt func() (T, error)) (T, error) {
	began := time.Now()
	for pause := time.Duration(0); ; {
		got, err := attempt()
		left := limit - time.Since(began)
		if err == nil || !absent(err) || limit == 0 {
			return got, err
		}
		if pause == 0 {
			slog.Warn("waits for "+what, "limit", limit.String(), "error", err)
		}
		if left <= 0 {
			return got, fmt.Errorf("waited %v for %s: %w", limit, what, err)
		}
		pause = Backoff(pause)
		if err := Sleep(ctx, min(pause, left)); err != nil {
			return got, err
		}
	}
}

// Backoff returns the pause after a failure that follows a pause: 100 ms after none, then twice
// the last one, to 2 s.
func Backoff(last time.Duration) time.Duration { return min(max(2*last, firstPause), lastPause) }

// Sleep waits for some wall time. If ctx ends before, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
