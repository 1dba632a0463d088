// Package launch starts and ends the processes of a rack on one machine, one
// process per node, and connects to its controller. No process outlives the launcher,
// however the launcher ends. It knows command lines and signals; it does not know
// what the processes do.
//
// The processes are instances of this program in other roles:
//
//	bus        --listen ADDRESS
//	controller --bus URL --rack NAME [--collector ADDRESS]
//	nic        --bus URL --rack NAME [--collector ADDRESS] --name NODE
//	switch     --bus URL --rack NAME [--collector ADDRESS] --name NODE
//	collector  --listen ADDRESS ...
//
// and --tls DIR if given. Each process writes one line of JSON to its standard output
// once it serves (name, address, pid), reads its key from its standard input, and
// ends when its standard input does (Child).
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/controller"
)

// Options configure a rack.
type Options struct {
	Nodes []topology.Node // their names and kinds
	// Bus is the URL of a NATS server, and Access the credentials of all processes
	// there. "" starts a server of the rack's own, with a new key per process.
	Bus    string
	Access bus.Access
	TLS    string // folder of certificates, "" for plain TCP
	// Listen is the address of the controller, "" for a free loopback port. Journal
	// is the file for the journals of its live runs, "" for none.
	Listen, Journal string
	// Collector is the address of the collector, "host:port", "" for none. Collect,
	// if not nil, are the flags of a collector of the rack's own. It listens at
	// Collector, or on a free port if that is in use or "".
	Collector string
	Collect   []string
	Path      string    // the program; "" for this one
	Env       []string  // "key=value", in addition to this process's environment
	Log       io.Writer // receives the processes' logs, line by line; may be nil
}

// readyLimit is the time within which all processes must be ready.
const readyLimit = 30 * time.Second

// Rack is a running rack: the processes of all its roles. Close ends them.
type Rack struct {
	path     string
	env      []string
	name     string        // on the bus
	url      string        // of the bus
	tls      string        // folder of certificates, or ""
	keys     *keys         // of the rack's own bus; nil with an external bus
	access   bus.Access    // credentials for an external bus
	patience time.Duration // time for a process to end when stopped
	spawner  *spawner
	journal  journal
	client   *controller.Client
	address  string // of the controller

	// ctx ends when an essential process has ended, with a ProcessError as the
	// cause, or when the rack closes.
	ctx      context.Context
	fail     context.CancelCauseFunc
	watchers sync.WaitGroup

	bus        *kept // nil with an external bus
	collector  *kept // nil if the rack has no collector of its own
	controller *process
	nodes      map[string]*process

	mu      sync.Mutex
	closing bool
}

// errClosed is the cause of the end of a rack's context when nothing went wrong.
var errClosed = errors.New("the rack is closed")

// Start starts all processes and returns when they are ready. If one does not become
// ready, the error names it and shows the end of its log, and Start ends all others.
// The end of ctx ends Start, not the rack.
func Start(ctx context.Context, o Options) (*Rack, error) {
	r, err := newRack(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("not within %v", readyLimit))
	defer cancel()
	if err := r.start(ctx, o); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// newRack returns a rack without processes.
func newRack(o Options) (*Rack, error) {
	path := o.Path
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("launch: %w", err)
		}
	}
	r := &Rack{
		path: path, env: o.Env, name: fmt.Sprintf("r%d-%d", os.Getpid(), time.Now().UnixNano()),
		patience: stopLimit, spawner: newSpawner(), journal: journal{w: o.Log}, nodes: map[string]*process{},
	}
	r.ctx, r.fail = context.WithCancelCause(context.Background())
	return r, nil
}

// start starts the bus, then the collector, then the controller and all nodes
// concurrently.
func (r *Rack) start(ctx context.Context, o Options) error {
	who, err := identity.Load(o.TLS, identity.Client)
	if err != nil {
		return fmt.Errorf("--tls: %w", err)
	}
	r.tls = o.TLS
	if o.Bus == "" {
		if err := r.startBus(ctx, o.Nodes); err != nil {
			return err
		}
	} else {
		r.join(o)
	}
	if o.Collect != nil {
		if err := r.startCollector(ctx, o); err != nil {
			return err
		}
		o.Collector = r.collector.address
	}
	if err := r.spawnAll(o); err != nil {
		return err
	}
	ready, err := r.controller.await(ctx)
	if err != nil {
		return err
	}
	for _, n := range o.Nodes {
		if _, err := r.nodes[n.Name].await(ctx); err != nil {
			return err
		}
	}
	r.address = ready.Address
	r.client, err = controller.DialAs(ready.Address, who)
	return err
}

// Client returns the client of the rack's controller.
func (r *Rack) Client() *controller.Client { return r.client }

// Address returns the address of the controller.
func (r *Rack) Address() string { return r.address }

// Failed returns a context that ends when an essential process has ended, with a
// ProcessError as the cause, or when the rack closes.
func (r *Rack) Failed() context.Context { return r.ctx }

// spawnAll starts and guards the controller and the nodes.
func (r *Rack) spawnAll(o Options) (err error) {
	common := []string{"--bus", r.url, "--rack", r.name}
	args := r.args(identity.Controller, common...)
	if o.Listen != "" {
		args = append(args, "--listen", o.Listen)
	}
	if o.Journal != "" {
		args = append(args, "--journal", o.Journal)
	}
	if o.Collector != "" {
		args = append(args, "--collector", o.Collector)
	}
	r.controller, err = r.spawn(child{name: identity.Controller, Inheritance: r.inheritance("")}, args...)
	if err != nil {
		return err
	}
	r.watchers.Go(func() { r.guard(r.controller) })
	for _, n := range o.Nodes {
		args := append(r.args(string(n.Kind), common...), "--name", n.Name)
		if o.Collector != "" {
			args = append(args, "--collector", o.Collector)
		}
		p, err := r.spawn(child{name: n.Name, node: true, Inheritance: r.inheritance(n.Name)}, args...)
		if err != nil {
			return err
		}
		r.nodes[n.Name] = p
		r.watchers.Go(func() { r.guard(p) })
	}
	return nil
}

// args returns the command line of a role.
func (r *Rack) args(role string, more ...string) []string {
	args := append([]string{role}, more...)
	if r.tls != "" {
		args = append(args, "--tls", r.tls)
	}
	return args
}

// guard ends the rack's context if p ends before Close.
func (r *Rack) guard(p *process) {
	<-p.done
	if !r.isClosing() {
		r.fail(p.failure(""))
	}
}

func (r *Rack) isClosing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

// Close ends all processes: the controller first, so that it does not report the end
// of a node as a failure, then the nodes, then the collector and the bus. It kills
// processes that do not end by themselves.
func (r *Rack) Close() {
	r.mu.Lock()
	again := r.closing
	r.closing = true
	r.mu.Unlock()
	if again {
		return
	}
	r.fail(errClosed)
	if r.client != nil {
		_ = r.client.Close() // all calls are over
	}
	if r.controller != nil {
		r.controller.stop(r.patience)
	}
	var all sync.WaitGroup
	for _, p := range r.nodes {
		all.Go(func() { p.stop(r.patience) })
	}
	all.Wait()
	r.collector.stop() // it stores what it has buffered
	r.bus.stop()
	r.watchers.Wait()
	r.spawner.close()
}
