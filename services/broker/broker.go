// Package broker implements the bus process: an embedded NATS server that runs
// until its context ends. It does not know the messages that it carries.
package broker

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Options configure a bus process.
type Options struct {
	Listen  string        // "host:port"; "" or port 0 for a free loopback port
	Users   []bus.User    // users that may connect
	Open    bool          // without Users, anybody may connect, with TLS every member
	TLS     *identity.TLS // of the bus; nil for plain TCP
	Cluster string        // address for other servers of a cluster, "host:port"; "" for none
	Routes  []string      // addresses of other servers for this one
	Metrics string        // address of the Prometheus endpoint, "host:port"; "" disables it
	Ready   io.Writer     // receives one line of JSON once the bus serves; may be nil
}

// share is the number of the machine's processors for each one that the bus uses.
// The server forwards an envelope in some microseconds; handing it to a thread on
// another processor takes longer than that.
const share = 4

// Main runs a bus process until ctx ends. It uses one in share of the machine's
// processors, unless the environment variable GOMAXPROCS is set.
func Main(ctx context.Context, o Options) error {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/share))
	}
	guard := bus.Guard{Users: o.Users, TLS: o.TLS.Server(), Open: o.Open}
	server, err := bus.StartInCluster(o.Listen, guard, bus.Cluster{Listen: o.Cluster, Routes: o.Routes, TLS: o.TLS.Mutual(identity.Bus)})
	if err != nil {
		return err
	}
	defer server.Shutdown()
	metrics, err := health.Serve(ctx, o.Metrics, carried(server))
	if err != nil {
		return err
	}
	if err := serve.Announce(o.Ready, serve.Ready{Name: "bus", Address: server.URL(), Metrics: metrics}); err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	<-ctx.Done()
	return nil
}

// carried returns a source of the server's traffic counters.
func carried(server *bus.Server) health.Source {
	return func(put health.Put) {
		c, err := server.Counts()
		if err != nil {
			return // it is shutting down
		}
		put(health.BusConnections, float64(c.Connections))
		put(health.BusMessages, float64(c.InMessages), "in")
		put(health.BusMessages, float64(c.OutMessages), "out")
		put(health.BusBytes, float64(c.InBytes), "in")
		put(health.BusBytes, float64(c.OutBytes), "out")
		put(health.BusSlowConsumers, float64(c.SlowConsumers))
		put(health.BusServers, float64(c.Servers))
		put(health.BusServerMessages, float64(c.InFromServers), "in")
		put(health.BusServerMessages, float64(c.OutToServers), "out")
	}
}
