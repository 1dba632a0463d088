// Package broker is the process of the bus: an embedded NATS server that lives
// until its context ends.
package broker

import (
	"context"
	"fmt"
	"io"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Options say where the bus listens.
type Options struct {
	Listen string    // "host:port"; "" or port 0 is a free loopback port
	Ready  io.Writer // gets one line of JSON once the bus answers; may be nil
}

// Main runs a bus process until ctx ends.
func Main(ctx context.Context, o Options) error {
	server, err := bus.StartServer(o.Listen)
	if err != nil {
		return err
	}
	defer server.Shutdown()
	if err := serve.Announce(o.Ready, "bus", server.URL()); err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	<-ctx.Done()
	return nil
}
