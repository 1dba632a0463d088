package discovery

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rackfab/rackfab/bus"
)

// JoinLimit is the default time to wait for free workers.
const JoinLimit = time.Minute

// TooFewError means that too few free workers have joined.
type TooFewError struct {
	Want   int
	Joined []string // "w0 at 192.0.2.2:7000"
	Cause  error
}

// Error names those that have joined.
func (e *TooFewError) Error() string {
	names := "none"
	if len(e.Joined) > 0 {
		names = strings.Join(e.Joined, ", ")
	}
	return fmt.Sprintf("%d of %d workers have joined (%s): %v", len(e.Joined), e.Want, names, e.Cause)
}

// Unwrap returns the cause.
func (e *TooFewError) Unwrap() error { return e.Cause }

// AwaitWorkers returns the first n free workers of a bus, by name. joined, unless it is
// nil, is called whenever more have joined. If ctx ends first, the error is a
// *TooFewError.
func AwaitWorkers(ctx context.Context, conn bus.Conn, n int, joined func(have, want int)) (found []Hello, err error) {
	d, err := Watch(conn, Pool)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	have := 0
	for range d.Rounds(ctx) {
		if found = d.Nodes(); len(found) > have && joined != nil {
			have = len(found)
			joined(min(have, n), n)
		}
		if len(found) >= n {
			return found[:n], nil
		}
	}
	var names []string
	for _, w := range found {
		names = append(names, w.Name+" at "+w.Address)
	}
	return nil, &TooFewError{Want: n, Joined: names, Cause: context.Cause(ctx)}
}
