package nodeservice

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/telemetry"
	"github.com/rackfab/rackfab/services/startup"
)

// API adds the gRPC service of a kind of node to the server of a process that has such nodes.
type API func(grpc.ServiceRegistrar, *Service)

// Options configure the process of one or several nodes.
type Options struct {
	APIs   []API           // of the kinds of nodes, in addition to NodeService
	Name   string          // of the process: that of its node, or of the first of them
	Nodes  []topology.Node // their names and kinds
	Member string          // member of the rack whose certificate TLS is; "" for Name
	Bus    string          // URL of the bus, "nats://127.0.0.1:4222"
	Access bus.Access      // credentials for the bus
	TLS    *identity.TLS   // of the process, on gRPC and bus; nil for plain TCP
	Rack   string          // name of the rack on the bus
	Listen string          // address of the gRPC server; "" for a free loopback port
	// Advertise is the address that the process announces, "host" or "host:port"; "" for the
	// default of discovery.Address.
	Advertise string
	// Collector is the address of the collector, "host:port"; "" for none.
	Collector string
	// Metrics is the address of the Prometheus endpoint, "host:port"; "" disables it.
	Metrics string
	Wait    time.Duration // for the bus at the start; 0 for one attempt
	Tick    time.Duration // of the links, see runner.Config; 0 for its default
	Ready   io.Writer     // receives one line of JSON once the process serves; may be nil
}

// Go runtime settings of a process. The environment variables GOMAXPROCS and GOGC take
// precedence. A rack usually has more processes than the machine has processors, and
// a group of nodes is one loop: more processors would only cause more wake-ups. The heap of
// a small rack's node is 1 to 4 MB, and Go adds the 6 MB of the program's variables before it
// applies GOGC: 100 would let every heap grow to 8 to 14 MB.
const (
	processors = 1
	gcPercent  = 50
)

// Main runs the process until ctx ends.
func Main(ctx context.Context, o Options) error {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	o.Access.TLS = o.TLS.Client("")
	conn, err := startup.Dial(ctx, o.Wait, o.Bus, o.Name, o.Access)
	if err != nil {
		return err
	}
	defer conn.Close()
	return Serve(ctx, conn, o)
}

// Serve is Main on a bus connection that the caller owns. It ignores o.Bus. It returns a
// *discovery.RefusedError if the rack has a live node of one of the names.
func Serve(ctx context.Context, conn bus.Conn, o Options) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	service := New(ctx, o.Name, o.Nodes, conn)
	service.tick = o.Tick
	var collector *grpc.ClientConn
	if o.Collector != "" {
		var err error
		if collector, err = telemetry.Await(ctx, o.Wait, o.Collector, o.TLS); err != nil {
			return fmt.Errorf("collector: %w", err)
		}
		defer collector.Close()
		service.ExportTo(collector)
	}
	calls := telemetry.NewCalls(collector, "rackfab-"+o.role(), o.Name)
	defer calls.Close()
	server, err := serve.ListenAs(o.Listen, o.TLS, serve.Options{Watch: calls.Server()})
	if err != nil {
		return err
	}
	defer server.Close()
	address, err := discovery.Address(o.Advertise, server.Address(), conn)
	if err != nil {
		return err
	}
	rackfabv1.RegisterNodeServiceServer(server, service)
	for _, register := range o.APIs {
		register(server, service)
	}
	metrics, err := health.Serve(ctx, o.Metrics, service.runs.Export, health.CallsOf(server), health.ReconnectsOf(conn))
	if err != nil {
		return err
	}
	var members []discovery.Hello
	for _, n := range o.Nodes {
		members = append(members, discovery.Hello{Name: n.Name, Kind: n.Kind, Address: address, PID: os.Getpid(), Process: o.Name, Member: o.Member})
	}
	leave, err := startup.Await(ctx, o.Wait, "the bus", bus.OutOfReach, func() (func(), error) {
		return discovery.Join(ctx, end, conn, o.Rack, members...)
	})
	if err != nil {
		return err
	}
	defer leave()
	if err := serve.Announce(o.Ready, serve.Ready{Name: o.Name, Address: server.Address(), Metrics: metrics}); err != nil {
		return fmt.Errorf("announce %s: %w", o.Name, err)
	}
	if err := server.Serve(ctx); err != nil {
		return err
	}
	return discovery.Refusal(ctx)
}

// role names what the process runs: the kind of its node, or "worker" for several nodes.
func (o *Options) role() string {
	if len(o.Nodes) == 1 {
		return string(o.Nodes[0].Kind)
	}
	return "worker"
}
