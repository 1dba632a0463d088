package torture

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A process that ends again and again by itself before it serves breaks the rack at once, with an
// error or without one. One that serves each time, or is ended by a fault, does not.
func TestProcessThatDoesNotComeUp(t *testing.T) {
	failed := errors.New("no port is free")
	for name, c := range map[string]struct {
		main   func(r *rack, ctx context.Context) error
		broken string
	}{
		"with an error":    {func(*rack, context.Context) error { return failed }, "process h0 does not come up: no port is free"},
		"without an error": {func(*rack, context.Context) error { return nil }, "process h0 does not come up: it ends without an error"},
		"after it served": {func(r *rack, _ context.Context) error {
			_, err := ready{r, "h0"}.Write(nil)
			return errors.Join(err, failed)
		}, ""},
		"by a fault": {func(r *rack, ctx context.Context) error {
			r.crash("h0")
			return ctx.Err()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limited, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("the patience is over"))
				defer cancel()
				r := emptyRack(limited, Scenario(), nil)
				calls := 0
				r.supervise("h0", func(ctx context.Context, _ *conn) error {
					if calls++; calls > 2*mostEnds {
						<-ctx.Done()
					}
					synctest.Wait() // settled waits
					return c.main(r, ctx)
				})
				err := r.settled(limited)
				cancel()
				r.over.Wait()
				if c.broken != "" && (err == nil || err.Error() != c.broken) || c.broken == "" && !strings.Contains(err.Error(), "patience") {
					t.Errorf("after %d starts: %v, want %q", calls, err, c.broken)
				}
			})
		})
	}
}
