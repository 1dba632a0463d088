package nodeservice

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// Options configure the process of a node.
type Options struct {
	Name   string        // of the node in its scenarios
	Bus    string        // URL of the bus, "nats://127.0.0.1:4222"
	Access bus.Access    // credentials for the bus
	TLS    *identity.TLS // of the node, on gRPC and bus; nil for plain TCP
	Rack   string        // name of the rack on the bus
	Listen string        // address of the gRPC server; "" for a free loopback port
	// Collector is the address of the collector, "host:port"; "" for none.
	Collector string
	// Metrics is the address of the Prometheus endpoint, "host:port"; "" disables it.
	Metrics string
	Ready   io.Writer // receives one line of JSON once the node serves; may be nil
}

// Go runtime settings of a node's process. The environment variables GOMAXPROCS and
// GOGC take precedence. A rack has more nodes than the machine has processors, and
// a node is one loop: more processors would only cause more wake-ups.
const (
	processors = 1
	gcPercent  = 100
)

// Main runs the process of a node of the given kind until ctx ends.
func Main(ctx context.Context, kind topology.NodeKind, o Options) error {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	o.Access.TLS = o.TLS.Client("")
	conn, err := bus.DialAs(o.Bus, o.Name, o.Access)
	if err != nil {
		return err
	}
	defer conn.Close()
	return Serve(ctx, conn, kind, o)
}

// Serve is Main on a bus connection that the caller owns. It ignores o.Bus.
func Serve(ctx context.Context, conn bus.Conn, kind topology.NodeKind, o Options) error {
	service := New(ctx, o.Name, kind, conn)
	var collector *grpc.ClientConn
	if o.Collector != "" {
		var err error
		if collector, err = telemetry.Dial(o.Collector, o.TLS); err != nil {
			return fmt.Errorf("collector: %w", err)
		}
		defer collector.Close()
		service.ExportTo(collector)
	}
	calls := telemetry.NewCalls(collector, "rackfab-"+string(kind), o.Name)
	defer calls.Close()
	server, err := serve.ListenAs(o.Listen, o.TLS, serve.Options{Watch: calls.Server()})
	if err != nil {
		return err
	}
	defer server.Close()
	rackfabv1.RegisterNodeServiceServer(server, service)
	if kind == topology.NIC {
		rackfabv1.RegisterNicServiceServer(server, &nicService{node: service})
	} else {
		rackfabv1.RegisterSwitchServiceServer(server, &switchService{node: service})
	}
	if _, err := health.Serve(ctx, o.Metrics, service.runs.Export, health.CallsOf(server), health.ReconnectsOf(conn)); err != nil {
		return err
	}
	hello := discovery.Hello{Name: o.Name, Kind: kind, Address: server.Address(), PID: os.Getpid()}
	stop, err := discovery.Announce(conn, o.Rack, hello)
	if err != nil {
		return fmt.Errorf("announce %s: %w", o.Name, err)
	}
	defer stop()
	if err := serve.Announce(o.Ready, serve.Ready{Name: o.Name, Address: server.Address()}); err != nil {
		return fmt.Errorf("announce %s: %w", o.Name, err)
	}
	return server.Serve(ctx)
}
