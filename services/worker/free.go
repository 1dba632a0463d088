package worker

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/cores"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/spawn"
	"github.com/rackfab/rackfab/services/startup"
)

// FreeOptions configure a free worker.
type FreeOptions struct {
	Name   string // unique among the workers of the bus
	Cores  int    // that it gives to its clients; 0 for GOMAXPROCS
	Build  string // of this program; clients of another build may run no cells
	Bus    string // URL of the bus, also for the children
	Access bus.Access
	TLS    *identity.TLS // of the worker, on gRPC and bus; nil for plain TCP
	// Listen is the address of the gRPC server; "" for a free loopback port. If its port is
	// not 0, the children listen on the ports that follow.
	Listen string
	// Advertise is the address that the worker announces, "host" or "host:port"; "" for the
	// default of discovery.Address. Its children announce its host.
	Advertise string
	Wait      time.Duration // for the bus at the start; 0 for one attempt
	Metrics   string        // address of the Prometheus endpoint, "host:port"; "" disables it
	Ready     io.Writer     // receives one line of JSON once the process serves; may be nil
	Children  spawn.Options // of the processes that it starts
}

// Free runs a free worker until ctx ends: it joins the pool of workers on the bus and
// serves WorkerService. It returns a *discovery.RefusedError if the bus has a live worker
// of the same name.
func Free(ctx context.Context, o FreeOptions) error {
	if o.Cores == 0 {
		o.Cores = runtime.GOMAXPROCS(0)
	}
	access := o.Access
	access.TLS = o.TLS.Client("")
	conn, err := startup.Dial(ctx, o.Wait, o.Bus, o.Name, access)
	if err != nil {
		return err
	}
	defer conn.Close()
	return serveFree(ctx, conn, o)
}

// serveFree is Free on a bus connection that the caller owns.
func serveFree(ctx context.Context, conn bus.Conn, o FreeOptions) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	server, err := serve.ListenAs(o.Listen, o.TLS, serve.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	address, err := discovery.Address(o.Advertise, server.Address(), conn)
	if err != nil {
		return err
	}
	children, err := spawn.New(o.Children)
	if err != nil {
		return err
	}
	defer children.Close()
	service := &free{ctx: ctx, o: o, children: children, cores: semaphore.NewWeighted(int64(o.Cores)), pool: cores.NewPool(o.Cores)}
	if err := service.setPorts(address); err != nil {
		return err
	}
	rackfabv1.RegisterWorkerServiceServer(server, service)
	if _, err := health.Serve(ctx, o.Metrics, health.CallsOf(server), health.ReconnectsOf(conn)); err != nil {
		return err
	}
	hello := discovery.Hello{Name: o.Name, Kind: discovery.Worker, Address: address, PID: os.Getpid(), Cores: o.Cores}
	leave, err := startup.Await(ctx, o.Wait, "the bus", bus.OutOfReach, func() (func(), error) {
		return discovery.Join(ctx, end, conn, discovery.Pool, hello)
	})
	if err != nil {
		return err
	}
	defer leave()
	if err := serve.Announce(o.Ready, serve.Ready{Name: o.Name, Address: address}); err != nil {
		return fmt.Errorf("announce %s: %w", o.Name, err)
	}
	if err := server.Serve(ctx); err != nil {
		return err
	}
	if err := service.cores.Acquire(context.Background(), int64(o.Cores)); err != nil { // the processes have ended
		return err
	}
	return discovery.Refusal(ctx)
}

// setPorts sets the addresses at which the children listen, and which they announce, from
// the address that the worker announces.
func (w *free) setPorts(address string) (err error) {
	if w.advertise, _, err = net.SplitHostPort(address); err != nil {
		return err
	}
	listen, port := w.o.Listen, "0"
	if listen == "" {
		listen = serve.Loopback
	}
	if w.host, port, err = net.SplitHostPort(listen); err != nil {
		return err
	}
	w.port, err = strconv.Atoi(port)
	return err
}

// listen returns the address of the i-th child.
func (w *free) listen(i int) string {
	port := 0
	if w.port != 0 {
		port = w.port + 1 + i
	}
	return net.JoinHostPort(w.host, strconv.Itoa(port))
}
