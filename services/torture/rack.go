package torture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// tick is that of the links: a lost envelope is noticed after two of them.
const tick = 2 * time.Millisecond

// rackName is the name of every rack; each has a bus of its own.
const rackName = "torture"

// mostEnds is the number of times in a row that a process may end by itself before it
// has come up.
const mostEnds = 100

var errNoReason = errors.New("it ends without an error")

// rack is a controller and a process for each node of a scenario, all in this process, and
// the supervisor that starts them again.
type rack struct {
	scenario *topology.Scenario
	text     []byte
	bus      *faultyBus
	dir      string // of the journal
	patience time.Duration
	end      context.CancelFunc
	ctx      context.Context // of all processes
	over     sync.WaitGroup  // of the supervisors
	runs     int

	mu     sync.Mutex
	ends   map[string]context.CancelFunc // of the processes
	up     map[string]bool
	client *controller.Client // of the present controller
	change chan struct{}      // closed and replaced when up or broken changes
	broken error              // of a process that does not come up
}

// newRack starts a rack, whose processes have the time of patience to come up, and later to end.
func newRack(ctx context.Context, s *topology.Scenario, patience time.Duration, breach breach) (*rack, error) {
	text, err := scenariofile.Marshal(s)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rackfab-torture-")
	if err != nil {
		return nil, err
	}
	r := emptyRack(ctx, s, breach)
	r.text, r.dir, r.patience = text, dir, patience
	r.supervise(controllerName, r.controller)
	for _, n := range s.Nodes {
		r.supervise(n.Name, func(ctx context.Context, conn *conn) error {
			return nodeservice.Serve(ctx, conn, nodeservice.Options{
				Name: n.Name, Nodes: []topology.Node{n}, Rack: rackName, Tick: tick, Ready: ready{r, n.Name},
			})
		})
	}
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the processes do not come up within %s", patience))
	defer cancel()
	if err := r.settled(limited); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// emptyRack returns a rack without processes.
func emptyRack(ctx context.Context, s *topology.Scenario, breach breach) *rack {
	r := &rack{scenario: s, ends: map[string]context.CancelFunc{}, up: map[string]bool{}, change: make(chan struct{})}
	r.bus = newFaultyBus(r.crash, breach)
	r.ctx, r.end = context.WithCancel(ctx)
	return r
}

func (r *rack) journal() string { return filepath.Join(r.dir, "journal.yaml") }

func (r *rack) controller(ctx context.Context, conn *conn) error {
	return controller.Serve(ctx, conn, controller.Options{
		Rack: rackName, Journal: r.journal(), Recover: controller.NodeLimit, Resume: true, Ready: ready{r, controllerName},
	})
}

// supervise runs a process, and starts it again when it ends, until the rack is closed.
func (r *rack) supervise(name string, main func(context.Context, *conn) error) {
	r.over.Go(func() {
		for ends := 0; r.ctx.Err() == nil; {
			ctx, end := context.WithCancel(r.ctx)
			conn := r.bus.dial(name)
			r.started(name, end)
			err := main(ctx, conn)
			ended := ctx.Err() != nil // by a fault, or with the rack
			conn.Close()
			end()
			r.gone(name)
			if ends++; ended || r.isUp(name) {
				ends = 0
			}
			if ends == mostEnds {
				r.broke(fmt.Errorf("process %s does not come up: %w", name, cmp.Or(err, errNoReason)))
				return
			}
		}
	})
}

// crash ends a process; the bus calls it. A process that ends by itself at that time has a
// successor at once, which must not be taken for it.
func (r *rack) crash(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if end := r.ends[name]; end != nil {
		r.note(name, false)
		end()
	}
}

// started records the function that ends a new process.
func (r *rack) started(name string, end context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends[name] = end
	r.note(name, false)
}

// note records whether a process serves. The caller holds the lock.
func (r *rack) note(name string, up bool) {
	r.up[name] = up
	r.notify()
}

// broke records that a process does not come up.
func (r *rack) broke(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
	r.notify()
}

// notify wakes those that wait in settled. The caller holds the lock.
func (r *rack) notify() {
	close(r.change)
	r.change = make(chan struct{})
}

// gone records that a process has ended.
func (r *rack) gone(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ends, name)
}

func (r *rack) isUp(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up[name]
}

// settled waits until all processes serve.
func (r *rack) settled(ctx context.Context) error {
	for {
		r.mu.Lock()
		change, broken, all := r.change, r.broken, r.up[controllerName]
		for _, n := range r.scenario.Nodes {
			all = all && r.up[n.Name]
		}
		r.mu.Unlock()
		if all || broken != nil {
			return broken
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// api returns the client of the present controller, which may have ended.
func (r *rack) api() *controller.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client
}

// close ends all processes. The error names those that do not end.
func (r *rack) close() error {
	r.end()
	ended := make(chan struct{})
	go func() {
		r.over.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(r.patience):
		r.mu.Lock()
		defer r.mu.Unlock()
		return fmt.Errorf("processes that do not end within %s: %s", r.patience, strings.Join(slices.Sorted(maps.Keys(r.ends)), ", "))
	}
	if r.client != nil {
		_ = r.client.Close()
	}
	return os.RemoveAll(r.dir)
}

// ready receives the announcement of a process that serves.
type ready struct {
	rack *rack
	name string
}

// Write marks the process as up.
func (w ready) Write(line []byte) (int, error) {
	r := w.rack
	var client *controller.Client
	if w.name == controllerName {
		var at serve.Ready
		err := json.Unmarshal(line, &at)
		if err != nil {
			return 0, err
		}
		if client, err = controller.DialAs(at.Address, nil); err != nil {
			return 0, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if client != nil {
		if r.client != nil {
			_ = r.client.Close()
		}
		r.client = client
	}
	r.note(w.name, true)
	return len(line), nil
}
