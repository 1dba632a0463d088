package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// interruption is the cause of the end of a context that a signal has ended.
type interruption struct{ signal syscall.Signal }

// Error says in a word what has happened.
func (i interruption) Error() string {
	if i.signal == syscall.SIGINT {
		return "interrupted"
	}
	return "terminated"
}

// status is what a shell reports of a process that the signal has killed.
func (i interruption) status() int { return 128 + int(i.signal) }

// parting is what is worth saying even of a command that a signal has ended. The
// other errors of such a command only say that it was ended.
type parting struct{ error }

// interruptible gives a context that the first SIGINT or SIGTERM ends, with an
// interruption as its cause. The second one kills the process.
func interruptible() context.Context {
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

// outcome gives the exit status of a command that has ended with err under ctx,
// and what is still to be said about it, "" if nothing.
func outcome(ctx context.Context, err error) (status int, text string) {
	var i interruption
	var p parting
	switch {
	case err == nil:
		return 0, ""
	case errors.As(context.Cause(ctx), &i) && errors.As(err, &p):
		return i.status(), i.Error() + ": " + p.Error()
	case errors.As(context.Cause(ctx), &i):
		return i.status(), i.Error()
	case errors.Is(err, errReported):
		return 1, ""
	}
	return 1, err.Error()
}
