package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// interruption is the cause of a context that a signal has cancelled.
type interruption struct{ signal syscall.Signal }

// Error returns "interrupted" or "terminated".
func (i interruption) Error() string {
	if i.signal == syscall.SIGINT {
		return "interrupted"
	}
	return "terminated"
}

// status returns the exit status that a shell reports for a process killed by the
// signal.
func (i interruption) status() int { return 128 + int(i.signal) }

// SignalError is an error that is printed even if a signal has ended the command. Other
// errors of such a command are only consequences of the signal.
type SignalError struct{ Err error }

// Error returns the text of Err.
func (e SignalError) Error() string { return e.Err.Error() }

// Interruptible returns a context that the first SIGINT or SIGTERM cancels, with an
// interruption as its cause. The second signal kills the process.
func Interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		s, _ := (<-signals).(syscall.Signal)
		signal.Stop(signals)
		cancel(interruption{s})
	}()
	return ctx
}

// Outcome returns the exit status of a command that returned err under ctx, and the
// remaining error text, or "". The end of an output's reader is no failure.
func Outcome(ctx context.Context, err error) (status int, text string) {
	var i interruption
	var p SignalError
	switch {
	case err == nil, errors.Is(err, errUnread):
		return 0, ""
	case errors.As(context.Cause(ctx), &i) && errors.As(err, &p):
		return i.status(), i.Error() + ": " + p.Error()
	case errors.As(context.Cause(ctx), &i):
		return i.status(), i.Error()
	}
	return 1, err.Error()
}
