// Package controller implements the controller of a rack and its client. The
// controller waits for the nodes, takes them through a run together and collects
// their results. It knows the nodes of the run and the step the run is in; it sees
// no frame.
package controller

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/telemetry"
	"github.com/rackfab/rackfab/services/startup"
)

// NodeLimit is the default time that the controller waits for its nodes to
// announce themselves, and then for them to be ready.
const NodeLimit = 30 * time.Second

// Options configure a controller process.
type Options struct {
	Bus       string        // URL of the bus, "nats://127.0.0.1:4222"
	Access    bus.Access    // credentials for the bus
	TLS       *identity.TLS // of the controller, on gRPC and bus; nil for plain TCP
	Rack      string        // name of the rack on the bus
	Listen    string        // address of the gRPC server; "" for a free loopback port
	Wait      time.Duration // for the bus at the start; 0 for one attempt
	NodeLimit time.Duration // for the nodes; 0 for NodeLimit
	Silence   time.Duration // of a node in a run, after which the run fails; 0 for serve.BeatLimit
	Stall     time.Duration // without progress of a run, after which it fails; 0 for StallLimit
	Recover   time.Duration // that a run waits for a lost process to be started again; 0 ends the run at a loss
	Resume    bool          // continue the live run of Journal, if a controller has left it
	Journal   string        // file kept up to date with the journal of a live run, "" for none
	Collector string        // address of the collector, "host:port", "" for none
	Metrics   string        // address of the Prometheus endpoint, "host:port"; "" disables it
	Ready     io.Writer     // receives one line of JSON once the controller serves; may be nil

	calls *telemetry.Calls // traces the calls that the process serves and makes
}

// Main runs a controller process until ctx ends.
func Main(ctx context.Context, o Options) error {
	o.Access.TLS = o.TLS.Client("")
	conn, err := startup.Dial(ctx, o.Wait, o.Bus, "controller", o.Access)
	if err != nil {
		return err
	}
	defer conn.Close()
	return Serve(ctx, conn, o)
}

// Serve is Main on a bus connection that the caller owns. It ignores o.Bus.
func Serve(ctx context.Context, conn bus.Conn, o Options) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	o.NodeLimit, o.Silence = cmp.Or(o.NodeLimit, NodeLimit), cmp.Or(o.Silence, serve.BeatLimit)
	o.Stall = cmp.Or(o.Stall, StallLimit)
	if o.Journal != "" {
		claim, err := ClaimJournal(o.Journal)
		if err != nil {
			return err
		}
		defer func() { _ = claim.Release() }() // it ends with the process anyway
	}
	directory, err := startup.Await(ctx, o.Wait, "the bus", bus.OutOfReach, func() (*discovery.Directory, error) {
		return discovery.Watch(conn, o.Rack)
	})
	if err != nil {
		return err
	}
	defer directory.Close()
	var collector *grpc.ClientConn
	if o.Collector != "" {
		if collector, err = telemetry.Await(ctx, o.Wait, o.Collector, o.TLS); err != nil {
			return fmt.Errorf("collector: %w", err)
		}
		defer collector.Close()
	}
	o.calls = telemetry.NewCalls(collector, "rackfab-controller", "controller")
	defer o.calls.Close()
	server, err := serve.ListenAs(o.Listen, o.TLS, serve.Options{Watch: o.calls.Server()})
	if err != nil {
		return err
	}
	defer server.Close()
	service := &service{ctx: ctx, options: o, directory: directory, turn: make(chan struct{}, 1), began: time.Now().UnixNano()}
	defer func() { service.turn <- struct{}{} }() // no run writes the journal after its claim has ended
	defer end()
	if o.Resume && o.Journal != "" {
		if err := service.takeOver(); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	rackfabv1.RegisterFabricServiceServer(server, service)
	metrics, err := health.Serve(ctx, o.Metrics, service.runs.Export, service.count, health.CallsOf(server), health.ReconnectsOf(conn))
	if err != nil {
		return err
	}
	if err := serve.Announce(o.Ready, serve.Ready{Name: "controller", Address: server.Address(), Metrics: metrics}); err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	return server.Serve(ctx)
}
