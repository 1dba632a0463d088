package launch

import (
	"context"
	"errors"
	"fmt"
	"net"

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
		rack := &rackfabv1.HostedRack{Name: r.name, Collector: r.o.Collector, Groups: list}
		// If the stream has ended, watch receives the cause.
		_ = w.stream.Send(&rackfabv1.HostRequest{Rack: rack})
		r.streams.Go(func() { r.watch(w, list[0].GetName(), ready) })
		count += len(list)
	}
	r.processes = count
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

// watch receives the reports of a worker until its stream ends. Unless the rack is
// closing, the end of the stream or of a process ends the rack's context. first is a node
// of the worker.
func (r *Rack) watch(w *borrowed, first string, ready chan<- struct{}) {
	for {
		m, err := w.stream.Recv()
		if r.isClosing() && err == nil {
			continue
		}
		switch e := m.GetEvent().(type) {
		case *rackfabv1.HostResponse_Ready:
			select {
			case ready <- struct{}{}:
			case <-r.ctx.Done():
			}
		case *rackfabv1.HostResponse_Ended:
			r.fail(&spawn.Error{
				Name: e.Ended.GetName(), Nodes: int(e.Ended.GetNodes()), PID: int(e.Ended.GetPid()), Worker: w.name + " at " + w.address,
				State: e.Ended.GetState(), Tail: e.Ended.GetLog(),
			})
		}
		if err != nil {
			if !r.isClosing() {
				r.fail(&WorkerError{Name: w.name, Address: w.address, First: first, Nodes: w.nodes, Err: lost(err)})
			}
			return
		}
	}
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
