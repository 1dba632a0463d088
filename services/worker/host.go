package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/cores"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/spawn"
)

// Limits of a hosted rack.
const (
	maxGroups  = 1024
	readyLimit = 30 * time.Second // for each process to be ready
)

// free implements WorkerService.
type free struct {
	rackfabv1.UnimplementedWorkerServiceServer
	ctx      context.Context // of the worker; its end ends all calls
	o        FreeOptions
	children *spawn.Spawner
	cores    *semaphore.Weighted // those in use: all by a lent worker, or those of cells
	pool     *cores.Pool         // of the cells

	// Where the children listen, and the host that they announce. Port 0 is a free one.
	host      string
	port      int
	advertise string
}

// hosting is the part of a rack that the worker runs for a client.
type hosting struct {
	*free
	rack      *rackfabv1.HostedRack
	processes []*spawn.Process
	events    chan *rackfabv1.HostResponse
}

// Host lends the worker to a client; see WorkerService.
func (w *free) Host(stream rackfabv1.WorkerService_HostServer) error {
	if !w.cores.TryAcquire(int64(w.o.Cores)) {
		return serve.Busy(busyPause, "worker %s is lent to another client, or runs cells", w.o.Name)
	}
	defer w.cores.Release(int64(w.o.Cores))
	ctx, end := context.WithCancel(stream.Context())
	defer end()
	defer context.AfterFunc(w.ctx, end)()
	if err := stream.Send(&rackfabv1.HostResponse{Event: &rackfabv1.HostResponse_Lent{Lent: &rackfabv1.WorkerLent{Cores: int32(w.o.Cores)}}}); err != nil {
		return err
	}
	steps := receive(ctx, end, stream)
	h := &hosting{free: w, events: make(chan *rackfabv1.HostResponse)}
	defer h.stop()
	for {
		var err error
		select {
		case q := <-steps:
			err = h.start(ctx, q.GetRack())
		case e := <-h.events:
			err = stream.Send(e)
		case <-ctx.Done():
			if w.ctx.Err() != nil {
				return status.Errorf(codes.Unavailable, "worker %s has been stopped", w.o.Name)
			}
			return nil // the client has left, or has closed its side
		}
		if err != nil {
			return err
		}
	}
}

// receive forwards the client's steps until it closes its side or ctx ends. Then it calls
// end.
func receive(ctx context.Context, end func(), stream rackfabv1.WorkerService_HostServer) <-chan *rackfabv1.HostRequest {
	steps := make(chan *rackfabv1.HostRequest)
	go func() {
		defer end()
		for {
			q, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case steps <- q:
			case <-ctx.Done():
				return
			}
		}
	}()
	return steps
}

// start starts a process for each group of the rack.
func (h *hosting) start(ctx context.Context, rack *rackfabv1.HostedRack) error {
	if h.rack != nil {
		return status.Error(codes.FailedPrecondition, "want one rack for each call")
	}
	if err := check(rack); err != nil {
		return err
	}
	h.rack = rack
	for i, g := range rack.GetGroups() {
		nodes, err := nodesOf(g.GetNics(), g.GetSwitches())
		if err != nil {
			return err // start has checked it
		}
		p, err := h.children.Start(h.command(i, g, len(nodes)))
		if err != nil {
			return status.Error(codes.Aborted, err.Error())
		}
		h.processes = append(h.processes, p)
		go h.watch(ctx, p, len(nodes))
	}
	return nil
}

// check checks a rack, and returns the first fault.
func check(rack *rackfabv1.HostedRack) error {
	if err := bus.CheckToken(rack.GetName()); err != nil {
		return serve.Invalid("rack.name", "%v", err)
	}
	if n := len(rack.GetGroups()); n == 0 || n > maxGroups {
		return serve.Invalid("rack.groups", "%d groups, want 1 to %d", n, maxGroups)
	}
	for i, g := range rack.GetGroups() {
		field := fmt.Sprintf("rack.groups[%d]", i)
		nodes, err := nodesOf(g.GetNics(), g.GetSwitches())
		switch {
		case err != nil:
			return serve.Invalid(field, "%v", err)
		case !has(nodes, g.GetName()):
			return serve.Invalid(field, "name %q: must be one of its nodes", g.GetName())
		}
	}
	return nil
}

// command describes the process of the i-th group.
func (h *hosting) command(i int, g *rackfabv1.HostedGroup, nodes int) spawn.Command {
	role, flags := Role(g)
	url, login := bus.SplitLogin(h.o.Bus)
	access := h.o.Access
	if login != (bus.Login{}) {
		access.Login = login
	}
	args := append([]string{"--bus", url, "--rack", h.rack.GetName(), "--listen", h.listen(i), "--advertise", h.advertise}, flags...)
	if h.rack.GetCollector() != "" {
		args = append(args, "--collector", h.rack.GetCollector())
	}
	if h.o.TLS != nil {
		args = append(args, "--member", h.o.Name)
	}
	return spawn.Command{Name: g.GetName(), Nodes: nodes, Role: role, Args: args, Secrets: spawn.Secrets{Access: access}}
}

// watch reports that a process is ready, and its end, until ctx ends.
func (h *hosting) watch(ctx context.Context, p *spawn.Process, nodes int) {
	report := func(e *rackfabv1.HostResponse) {
		select {
		case h.events <- e:
		case <-ctx.Done():
		}
	}
	limit, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("not within %v", readyLimit))
	defer cancel()
	_, err := p.Await(limit)
	if err == nil {
		report(&rackfabv1.HostResponse{Event: &rackfabv1.HostResponse_Ready{Ready: &rackfabv1.ProcessReady{Name: p.Name()}}})
		select {
		case <-p.Done():
			err = p.Failure("")
		case <-ctx.Done():
			return
		}
	}
	ended := &rackfabv1.ProcessEnded{Name: p.Name(), Nodes: int32(nodes), Pid: int32(p.PID()), State: err.Error()}
	var failure *spawn.Error
	if errors.As(err, &failure) {
		ended.State, ended.Log = failure.State, failure.Tail
	}
	report(&rackfabv1.HostResponse{Event: &rackfabv1.HostResponse_Ended{Ended: ended}})
}

// stop ends all processes.
func (h *hosting) stop() {
	var all sync.WaitGroup
	for _, p := range h.processes {
		all.Go(func() { p.Stop(spawn.StopLimit) })
	}
	all.Wait()
}
