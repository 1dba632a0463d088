package launch

import (
	"context"
	"io"
	"os"
	"time"
)

// parentVariable is set in the environment of a child whose standard input is a
// pipe from the launcher.
const parentVariable = "RACKFAB_PARENT"

// exitLimit is how long a child may take to end by itself when its launcher has
// gone or has told it to stop.
const exitLimit = 3 * time.Second

// Child gives the context of a process that a launcher may have started: it ends
// when ctx does, and when the launcher closes the pipe at standard input, which
// is how the launcher says stop and what happens when it dies. A process that
// has not ended three seconds later is ended. In a process that no launcher
// started, Child gives ctx.
func Child(ctx context.Context) context.Context {
	if os.Getenv(parentVariable) == "" {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.AfterFunc(exitLimit, func() { os.Exit(1) }) //nolint:forbidigo // main may be what hangs
		cancel()
	}()
	return ctx
}
