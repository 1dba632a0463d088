// Package launch starts and ends the processes of a rack on one machine, one process per
// node or group of nodes, and connects to its controller. No process outlives the launcher,
// however the launcher ends. It knows command lines and signals; it does not know
// what the processes do.
//
// The processes are instances of this program in other roles:
//
//	bus        --listen ADDRESS
//	controller --bus URL --rack NAME [--collector ADDRESS]
//	nic        --bus URL --rack NAME [--collector ADDRESS] [--advertise HOST] --name NODE
//	switch     --bus URL --rack NAME [--collector ADDRESS] [--advertise HOST] --name NODE
//	worker     --bus URL --rack NAME [--collector ADDRESS] [--advertise HOST] --name NODE --nics NODES --switches NODES
//	collector  --listen ADDRESS ...
//
// and --tls DIR if given. They are children of package spawn.
package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/spawn"
	"github.com/rackfab/rackfab/services/startup"
)

// Options configure a rack.
type Options struct {
	// Groups are the names and kinds of the nodes, a process per group, see Groups.
	Groups [][]topology.Node
	// Workers, if not nil, run the nodes instead of Groups. Bus must be the URL of theirs.
	Workers *Workers
	// Bus is the URL of a NATS server, and Access the credentials of all processes
	// there. "" starts a server of the rack's own, with a new key per process.
	Bus    string
	Access bus.Access
	TLS    string // folder of certificates, "" for plain TCP
	// Listen is the address of the controller, "" for a free loopback port. Journal
	// is the file for the journals of its live runs, "" for none.
	Listen, Journal string
	// Recover is the time that a run waits for a lost process to be started again; with 0,
	// the end of a process ends the run.
	Recover time.Duration
	// Collector is the address of the collector, "host:port", "" for none. Collect,
	// if not nil, are the flags of a collector of the rack's own. It listens at
	// Collector, or on a free port if that is in use or "".
	Collector string
	Collect   []string
	// Reach, if not nil, returns the URL by which the process of a first node reaches the bus
	// at url.
	Reach   func(node, url string) (string, error)
	Metrics bool      // each process serves its metrics at a free loopback port, see Rack.Metrics
	Path    string    // of the program; "" for this one
	Env     []string  // "key=value", in addition to this process's environment
	Log     io.Writer // receives the processes' logs, line by line; may be nil
}

// loopback is the address that the nodes announce on an external bus.
const loopback = "127.0.0.1"

// readyLimit is the time within which all processes must be ready.
const readyLimit = 30 * time.Second

// Rack is a running rack: the processes of all its roles. Close ends them.
type Rack struct {
	o        Options                   // Bus and Access are those of an external bus, without the login in the URL
	name     string                    // on the bus
	url      string                    // of the bus
	keys     keys                      // of the rack's own bus; nil with an external bus
	patience time.Duration             // time for a process to end when stopped
	pause    func(time.Duration) error // before a restart; its error is the end of the rack
	spawner  *spawn.Spawner
	client   *controller.Client
	address  string // of the controller
	who      *identity.TLS

	// ctx ends when an essential process has ended, with a *spawn.Error as the
	// cause, or when the rack closes.
	ctx      context.Context
	fail     context.CancelCauseFunc
	watchers sync.WaitGroup

	bus        *supervised // nil with an external bus
	collector  *supervised // nil if the rack has no collector of its own
	controller *supervised
	nodes      map[string]*supervised // by name: that of their first nodes
	processes  int                    // of the nodes, wherever they run

	borrowing sync.Mutex // guards workers once they run nodes
	workers   []*borrowed
	hosted    chan struct{}   // closed once all processes of the workers were ready
	streams   sync.WaitGroup  // of workers that run nodes
	leased    context.Context // ends when the workers are given back
	endLease  context.CancelFunc

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
	if err := r.start(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// newRack returns a rack without processes.
func newRack(o Options) (r *Rack, err error) {
	// The processes get the credentials as secrets, not on their command lines.
	url, login := bus.SplitLogin(o.Bus)
	if login != (bus.Login{}) {
		o.Access.Login = login
	}
	spawner, err := spawn.New(spawn.Options{Path: o.Path, TLS: o.TLS, Env: o.Env, Log: o.Log})
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	r = &Rack{
		o: o, url: url, name: fmt.Sprintf("r%d-%d", os.Getpid(), time.Now().UnixNano()),
		patience: spawn.StopLimit, spawner: spawner, nodes: map[string]*supervised{}, hosted: make(chan struct{}),
	}
	r.ctx, r.fail = context.WithCancelCause(context.Background())
	r.pause = func(d time.Duration) error { return startup.Sleep(r.ctx, d) }
	r.leased, r.endLease = context.WithCancel(context.Background())
	return r, nil
}

// start borrows the workers, if any, starts the bus, then the collector, then the
// controller and all nodes concurrently.
func (r *Rack) start(ctx context.Context) error {
	var err error
	if r.who, err = identity.Load(r.o.TLS, identity.Client); err != nil {
		return fmt.Errorf("--tls: %w", err)
	}
	if r.o.Workers != nil {
		if err := r.borrow(ctx, cmp.Or(r.o.Workers.Limit, discovery.JoinLimit)); err != nil {
			return err
		}
	}
	if r.url != "" {
		if err := r.awaitBus(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("not within %v", readyLimit))
	defer cancel()
	if r.url == "" {
		if err := r.startBus(ctx); err != nil {
			return err
		}
	}
	if r.o.Collect != nil {
		if err := r.startCollector(ctx); err != nil {
			return err
		}
	}
	if err := r.spawnAll(); err != nil {
		return err
	}
	if err := r.controller.await(ctx); err != nil {
		return err
	}
	if r.o.Workers != nil {
		if err := r.host(ctx); err != nil {
			return err
		}
	}
	for _, nodes := range r.o.Groups {
		if err := r.nodes[nodes[0].Name].await(ctx); err != nil {
			return err
		}
	}
	r.address = r.controller.address
	r.client, err = controller.DialAs(r.address, r.who)
	return err
}

// awaitBus waits for an external bus, so that the launcher names it before any process is
// started.
func (r *Rack) awaitBus(ctx context.Context) error {
	_, err := startup.Await(ctx, startup.Limit, "the bus at "+r.url, bus.OutOfReach, func() (struct{}, error) {
		return struct{}{}, health.Check(ctx, r.url, r.who)
	})
	return err
}

// startBus starts the bus on a free port, with new keys for the controller and the
// nodes, and restarts it on that port whenever it ends, until Close. The link
// protocol repairs the losses. The rack fails only if the bus cannot be restarted.
func (r *Rack) startBus(ctx context.Context) (err error) {
	c := spawn.Command{Name: identity.Bus, Role: identity.Bus, Env: spawn.BusEnv()}
	if r.keys, c.Secrets.Users, err = newKeys(r.name, r.o.Groups); err != nil {
		return err
	}
	r.bus = &supervised{rack: r, command: c, lost: r.fail}
	err = r.bus.start(ctx, serve.Loopback)
	r.url = r.bus.address
	return err
}

// startCollector starts the rack's own collector, and restarts it at its address
// whenever it ends, until Close. If it cannot be restarted, the launcher logs that,
// and the rack continues without it.
func (r *Rack) startCollector(ctx context.Context) error {
	r.collector = &supervised{rack: r, command: spawn.Command{Name: identity.Collector, Role: identity.Collector, Args: r.o.Collect}, lost: func(err error) {
		r.spawner.Log("launch", fmt.Sprintf("the rack continues without a collector: %v", err))
	}}
	listen, reached := r.collectorAddresses(cmp.Or(r.o.Collector, serve.Loopback))
	err := r.collector.start(ctx, listen, "--any-port")
	r.o.Collector = reached(r.collector.address)
	return err
}

// Client returns the client of the rack's controller.
func (r *Rack) Client() *controller.Client { return r.client }

// Address returns the address of the controller.
func (r *Rack) Address() string { return r.address }

// Collector returns the address of the collector, "" for none.
func (r *Rack) Collector() string { return r.o.Collector }

// Page returns the address of the web page of the rack's own collector, "" if there
// is none.
func (r *Rack) Page() string {
	if r.collector == nil {
		return ""
	}
	return r.collector.page
}

// Signal sends a signal to the present process of identity.Bus, identity.Collector,
// identity.Controller or a first node. The error is os.ErrProcessDone if it has ended and
// is not started again yet.
func (r *Rack) Signal(name string, s os.Signal) error {
	of := r.nodes[name]
	switch name {
	case identity.Bus:
		of = r.bus
	case identity.Collector:
		of = r.collector
	case identity.Controller:
		of = r.controller
	}
	p := of.process()
	if p == nil {
		return fmt.Errorf("launch: the rack has no process %q", name)
	}
	return p.Signal(s)
}

// Failed returns a context that ends when an essential process has ended, with a
// *spawn.Error as the cause, or when the rack closes.
func (r *Rack) Failed() context.Context { return r.ctx }

// spawnAll starts the controller and the nodes. With o.Recover, they are restarted when
// they end; otherwise their end is that of the rack's context.
func (r *Rack) spawnAll() (err error) {
	args := []string{"--rack", r.name}
	if r.o.Collector != "" {
		args = append(args, "--collector", r.o.Collector)
	}
	own := append(slices.Clone(args), "--bus", r.url, "--recover", r.o.Recover.String()) // of the controller
	var anew []string
	if r.o.Journal != "" {
		own, anew = append(own, "--journal", r.o.Journal), []string{"--resume"}
	}
	r.controller = r.supervise(spawn.Command{Name: identity.Controller, Role: identity.Controller, Args: own, Secrets: r.secrets("")})
	r.controller.anew = anew
	if _, err := r.controller.spawn(cmp.Or(r.o.Listen, serve.Loopback)); err != nil {
		return err
	}
	if r.o.Bus != "" {
		args = append(args, "--advertise", loopback) // the bus may be on another machine, the controller is on this one
	}
	env := spawn.NodeEnv(len(r.o.Groups))
	for _, nodes := range r.o.Groups {
		name := nodes[0].Name
		url := r.url
		if r.o.Reach != nil {
			if url, err = r.o.Reach(name, url); err != nil {
				return err
			}
		}
		role, own := Role(nodes)
		own = append(own, "--bus", url)
		p := r.supervise(spawn.Command{Name: name, Nodes: len(nodes), Role: role, Args: slices.Concat(args, own), Env: env, Secrets: r.secrets(name)})
		p.moves = true
		if _, err := p.spawn(""); err != nil {
			return err
		}
		r.nodes[name] = p
	}
	return nil
}

// supervise returns a process of the rack whose loss ends the rack's context.
func (r *Rack) supervise(c spawn.Command) *supervised {
	return &supervised{rack: r, command: c, mortal: r.o.Recover == 0, lost: r.fail}
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
	r.controller.stop()
	var all sync.WaitGroup
	for _, p := range r.nodes {
		all.Go(p.stop)
	}
	all.Wait()
	r.giveBack()
	r.collector.stop() // it stores what it has buffered
	r.bus.stop()
	r.watchers.Wait()
	r.spawner.Close()
}
