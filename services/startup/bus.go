package startup

import (
	"context"
	"time"

	"github.com/rackfab/rackfab/bus"
)

// Dial is bus.DialAs for a bus that may start later: it waits for it, see Await.
func Dial(ctx context.Context, limit time.Duration, urls, name string, a bus.Access) (bus.Conn, error) {
	clean, _ := bus.SplitLogin(urls)
	return Await(ctx, limit, "the bus at "+clean, bus.OutOfReach, func() (bus.Conn, error) { return bus.DialAs(urls, name, a) })
}
