// Package broker is the process of the bus: an embedded NATS server that lives
// until its context ends.
package broker

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/vitals"
)

// Options say where the bus listens, and whom it lets in.
type Options struct {
	Listen  string        // "host:port"; "" or port 0 is a free loopback port
	Users   []bus.User    // whom it lets in
	Open    bool          // without Users: it lets everybody in, with TLS every member
	TLS     *identity.TLS // of the bus; nil for plain TCP
	Metrics string        // where Prometheus asks how the process fares, "host:port", "" for nowhere
	Ready   io.Writer     // gets one line of JSON once the bus answers; may be nil
}

// share is how many processors of the machine there are for each that the bus
// uses. An envelope goes through the server in some microseconds; to hand it to a
// thread on another processor takes longer than that.
const share = 4

// Main runs a bus process until ctx ends. The environment variable GOMAXPROCS
// takes precedence over its own choice of processors.
func Main(ctx context.Context, o Options) error {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/share))
	}
	server, err := start(o)
	if err != nil {
		return err
	}
	defer server.Shutdown()
	if _, err := vitals.Serve(ctx, o.Metrics, carried(server)); err != nil {
		return err
	}
	if err := serve.Announce(o.Ready, serve.Ready{Name: "bus", Address: server.URL()}); err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	<-ctx.Done()
	return nil
}

func start(o Options) (*bus.Server, error) {
	if o.Open && o.TLS == nil {
		return bus.StartServer(o.Listen)
	}
	return bus.StartGuarded(o.Listen, bus.Guard{Users: o.Users, TLS: o.TLS.Server()})
}

// carried tells what the server has carried.
func carried(server *bus.Server) vitals.Source {
	return func(put func(id vitals.ID, value float64, labels ...string)) {
		c, err := server.Counts()
		if err != nil {
			return // it is shutting down
		}
		put(vitals.BusConnections, float64(c.Connections))
		put(vitals.BusMessages, float64(c.InMessages), "in")
		put(vitals.BusMessages, float64(c.OutMessages), "out")
		put(vitals.BusBytes, float64(c.InBytes), "in")
		put(vitals.BusBytes, float64(c.OutBytes), "out")
		put(vitals.BusSlowConsumers, float64(c.SlowConsumers))
	}
}
