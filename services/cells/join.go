package cells

import (
	"context"
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/startup"
)

// Options select the workers of a pool.
type Options struct {
	Bus     string               // URL, "nats://127.0.0.1:4222"
	Access  bus.Access           // credentials for the bus
	TLS     *identity.TLS        // of the client, on gRPC and bus; nil for plain TCP
	Workers int                  // to wait for, above 0
	Cores   int                  // of each cell; 0 for one, and others of its worker while they are idle
	Build   string               // of this program, which the workers must have too
	Joined  func(have, want int) // is called whenever more have joined; it may be nil
	// Lost is called once for each worker that is lost; it may be nil.
	Lost func(error)
}

// Pool are the workers that run cells.
type Pool struct {
	lanes *lanes
	lost  func(error)
	close []func() error
}

// Join waits until the workers have joined the bus, at most for discovery.JoinLimit.
func Join(ctx context.Context, o Options) (*Pool, error) {
	o.Access.TLS = o.TLS.Client("")
	conn, err := startup.Dial(ctx, startup.Limit, o.Bus, "client", o.Access)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	limited, cancel := context.WithTimeoutCause(ctx, discovery.JoinLimit, fmt.Errorf("not within %v", discovery.JoinLimit))
	defer cancel()
	found, err := discovery.AwaitWorkers(limited, conn, o.Workers, o.Joined)
	if err != nil {
		return nil, err
	}
	return dial(found, o)
}

// dial connects to workers.
func dial(workers []discovery.Hello, o Options) (*Pool, error) {
	p := &Pool{lost: o.Lost}
	var members []*member
	for _, w := range workers {
		conn, err := serve.DialAs(w.Address, o.TLS, w.Name)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("worker %s at %s: %w", w.Name, w.Address, err)
		}
		p.close = append(p.close, conn.Close)
		if o.Cores > w.Cores {
			p.Close()
			return nil, fmt.Errorf("--cores %d: worker %s at %s has %d", o.Cores, w.Name, w.Address, w.Cores)
		}
		c := &client{api: rackfabv1.NewWorkerServiceClient(conn), build: o.Build, cores: o.Cores}
		members = append(members, &member{name: w.Name, address: w.Address, lanes: w.Cores / max(1, o.Cores), call: c.run})
	}
	p.lanes = newLanes(members)
	return p, nil
}

// Close ends all calls.
func (p *Pool) Close() {
	var errs []error
	for _, end := range p.close {
		errs = append(errs, end())
	}
	_ = errors.Join(errs...) // the calls are over
}
