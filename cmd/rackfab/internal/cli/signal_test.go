package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
)

func TestOutcome(t *testing.T) {
	ended := func(s syscall.Signal) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interruption{s})
		return ctx
	}
	fault := errors.New("no such file")
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		err    error
		status int
		text   string
	}{
		{"well", t.Context(), nil, 0, ""},
		{"well, in spite of a signal", ended(syscall.SIGTERM), nil, 0, ""},
		{"fault", t.Context(), fault, 1, "no such file"},
		{"Ctrl-C", ended(syscall.SIGINT), context.Canceled, 130, "interrupted"},
		{"Ctrl-C, with something to say", ended(syscall.SIGINT), fmt.Errorf("%w", SignalError{Err: fault}), 130, "interrupted: no such file"},
		{"parting without a signal", t.Context(), SignalError{Err: fault}, 1, "no such file"},
		{"kill", ended(syscall.SIGTERM), context.Canceled, 143, "terminated"},
	} {
		if status, text := Outcome(tt.ctx, tt.err); status != tt.status || text != tt.text {
			t.Errorf("%s: %d %q, want %d %q", tt.name, status, text, tt.status, tt.text)
		}
	}
}
