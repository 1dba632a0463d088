package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/groups"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/spawn"
	"github.com/rackfab/rackfab/services/worker"
)

// WorkerError means that a worker has left the rack before its end.
type WorkerError struct {
	Name, Address string
	First         string // of its nodes
	Nodes         int
	Err           error
}

// Error names the worker, its address and its first node.
func (e *WorkerError) Error() string {
	what := "node " + e.First
	if e.Nodes > 1 {
		what = fmt.Sprintf("node %s and %d others", e.First, e.Nodes-1)
	}
	return fmt.Sprintf("worker %s at %s, which runs %s: %s", e.Name, e.Address, what, status.Convert(e.Err).Message())
}

// spread cuts the rack for the borrowed workers.
func (r *Rack) spread() [][]*rackfabv1.HostedGroup {
	cores := make([]int, len(r.workers))
	for i, w := range r.workers {
		cores[i] = w.cores
	}
	s, lists := r.o.Workers.Scenario, make([][]*rackfabv1.HostedGroup, len(r.workers))
	for i, of := range groups.Spread(s, cores) {
		for _, indices := range of {
			nodes := make([]topology.Node, len(indices))
			for j, n := range indices {
				nodes[j] = s.Nodes[n]
			}
			lists[i] = append(lists[i], worker.Group(nodes))
			r.workers[i].nodes += len(nodes)
		}
	}
	return lists
}

// host makes the borrowed workers run the rack, and returns when all processes are ready.
func (r *Rack) host(ctx context.Context) error {
	ready, count := make(chan struct{}), 0
	for i, list := range r.spread() {
		w := r.workers[i]
		r.streams.Go(func() { r.keep(w, list, ready) })
		count += len(list)
	}
	r.processes = count
	defer close(r.hosted)
	for ; count > 0; count-- {
		select {
		case <-ready:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		case <-ctx.Done():
			return fmt.Errorf("%d of %d processes of the workers are not ready: %w", count, r.processes, context.Cause(ctx))
		}
	}
	return nil
}

// keep has a worker run its groups until the rack is closing. If it is lost, or one of its
// processes, keep borrows it again, or another one in its place, and has it run the groups;
// after failures, with ever longer pauses.
// Without o.Recover, or if there is none, the loss ends the rack's context.
func (r *Rack) keep(w *borrowed, list []*rackfabv1.HostedGroup, ready chan<- struct{}) {
	for losses := 0; ; losses++ {
		rack := &rackfabv1.HostedRack{Name: r.name, Collector: r.o.Collector, Groups: list}
		// If the stream has ended, watch receives the cause.
		_ = w.stream.Send(&rackfabv1.HostRequest{Rack: rack})
		came, err := r.watch(w, list[0].GetName(), ready)
		if r.isClosing() {
			return
		}
		if came {
			losses = 0
		}
		if r.o.Recover == 0 || losses == maxRestarts {
			r.fail(err)
			return
		}
		if r.backOff(losses) != nil {
			return // the rack has failed or is closing
		}
		r.spawner.Log("launch", fmt.Sprintf("%v; looking for a worker in its place", err))
		next, missing := r.replace(w)
		if missing != nil {
			r.fail(fmt.Errorf("%w; in its place: %w", err, missing))
			return
		}
		next.nodes = w.nodes
		w = next
	}
}

// watch receives the reports of a worker until its stream or one of its processes ends, and
// returns the loss. came reports whether a process was ready before. first is a node of the
// worker.
func (r *Rack) watch(w *borrowed, first string, ready chan<- struct{}) (came bool, loss error) {
	for {
		m, err := w.stream.Recv()
		if r.isClosing() && err == nil {
			continue
		}
		if err != nil {
			return came, &WorkerError{Name: w.name, Address: w.address, First: first, Nodes: w.nodes, Err: lost(err)}
		}
		switch e := m.GetEvent().(type) {
		case *rackfabv1.HostResponse_Ready:
			came = true
			select {
			case ready <- struct{}{}:
			case <-r.hosted:
			case <-r.ctx.Done():
			}
		case *rackfabv1.HostResponse_Ended:
			return came, &spawn.Error{
				Name: e.Ended.GetName(), Nodes: int(e.Ended.GetNodes()), PID: int(e.Ended.GetPid()), Worker: w.name + " at " + w.address,
				State: e.Ended.GetState(), Tail: e.Ended.GetLog(),
			}
		}
	}
}

// replace returns another worker for one that was lost, or the same again.
func (r *Rack) replace(w *borrowed) (*borrowed, error) {
	r.borrowing.Lock()
	defer r.borrowing.Unlock()
	w.end()
	r.workers = slices.DeleteFunc(slices.Clone(r.workers), func(other *borrowed) bool { return other == w })
	before := r.workers
	if err := r.borrow(r.ctx, r.o.Recover); err != nil {
		return nil, err
	}
	for _, next := range r.workers {
		if !slices.Contains(before, next) {
			return next, nil
		}
	}
	return nil, errClosed
}

// lost rewords the end of a worker's stream.
func lost(err error) error {
	if s := status.Convert(err); s.Message() == "EOF" || s.Message() == "error reading from server: EOF" {
		return errors.New("its process has ended, or is cut off")
	}
	return err
}

// giveBack ends the streams of the workers and waits until they have ended their
// processes, or the patience with a local process is over.
func (r *Rack) giveBack() {
	r.borrowing.Lock()
	defer r.borrowing.Unlock()
	for _, w := range r.workers {
		_ = w.stream.CloseSend() // the stream ends in any case
	}
	limit, cancel := context.WithTimeout(context.Background(), r.patience)
	defer cancel()
	over := context.AfterFunc(limit, r.endLease)
	r.streams.Wait()
	over()
	r.endLease()
}

// reachable returns the address of this machine at which the workers reach it: that of the
// connection to a worker on another machine, or a loopback address if there is none.
func (r *Rack) reachable() string {
	host := ""
	for _, w := range r.workers {
		c, err := new(net.Dialer).DialContext(r.ctx, "udp", w.address) // sends nothing
		if err != nil {
			continue // its stream will say so
		}
		if at, ok := c.LocalAddr().(*net.UDPAddr); ok && !at.IP.IsLoopback() {
			host = at.IP.String()
		}
		_ = c.Close() // it carried no data
	}
	return host
}

// collectorAddresses returns where the rack's own collector listens, and the function that
// returns the address by which the nodes reach it.
func (r *Rack) collectorAddresses(listen string) (string, func(string) string) {
	own := func(address string) string { return address }
	host := r.reachable()
	_, port, err := net.SplitHostPort(listen)
	if host == "" || err != nil {
		return listen, own
	}
	return net.JoinHostPort("", port), func(address string) string {
		_, port, _ := net.SplitHostPort(address) // of a listener
		return net.JoinHostPort(host, port)
	}
}
