package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// loop takes all nodes through the run until the nodes have left the finished run,
// the run is stopped, or ctx ends. It returns an error if the run has not come to its
// end, or if a node fails from whose loss the run does not recover. A live run whose nodes
// were ready survives such a failure: it stops its clock. When loop returns, all nodes leave.
func (r *run) loop(ctx context.Context, announced []discovery.Hello) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.captures.end()
	r.limit = time.NewTimer(time.Hour) // join sets it
	defer r.limit.Stop()
	if announced != nil {
		r.join(ctx, announced)
	} else {
		go r.await(ctx, nil, nodeNames(r.scenario))
	}
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	next := time.NewTimer(time.Hour)
	defer next.Stop()
	for !r.stop && (!r.leaving || r.members.left < len(r.members.all)) {
		if wait := r.advance(time.Now()); wait > 0 {
			next.Reset(wait)
		}
		var err error
		select {
		case e := <-r.members.events:
			err = r.handle(e)
		case call := <-r.calls:
			r.serve(call)
		case <-next.C:
		case <-tick.C:
			err = r.tick()
		case <-r.limit.C:
			if r.leaving {
				return nil // the members do not leave
			}
			err = r.notReady()
		case <-ctx.Done():
			err = status.FromContextError(ctx.Err()).Err()
		}
		if err == nil && r.failed != nil {
			err = r.lost(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notReady handles the end of the time in which members have to be ready: those of a
// recovery may come in the next one.
func (r *run) notReady() error {
	why := fmt.Errorf("not ready within %v", r.service.options.NodeLimit)
	if r.recovery.count == 0 {
		return status.Errorf(codes.FailedPrecondition, "nodes that were %v: %s", why, r.members.missing())
	}
	for _, m := range r.members.all {
		if !m.ready {
			r.fail(m, why)
		}
	}
	return nil
}

// handle processes one event. It returns an error if the client of a batch run has
// left.
func (r *run) handle(e event) error {
	e.silent = 0
	if e.err != nil {
		r.streamEnded(e)
		return nil
	}
	switch m := e.message.GetEvent().(type) {
	case *rackfabv1.RunResponse_Ready:
		e.ready = true
		if r.members.ready++; r.members.allReady() {
			r.start()
		}
	case *rackfabv1.RunResponse_Progress:
		if !e.finished() {
			e.advances(m.Progress)
		}
	case *rackfabv1.RunResponse_Notes:
		if r.batch != nil {
			return r.batch.client.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Notes{Notes: m.Notes}})
		}
	case *rackfabv1.RunResponse_Captured:
		if n := r.node(e.member, m.Captured.GetNode()); n != nil {
			r.captures.record(n.index, m.Captured)
		}
	case *rackfabv1.RunResponse_Reached:
		if n := r.node(e.member, m.Reached.GetStats().GetNode()); n != nil {
			n.stats = m.Reached.GetStats()
			r.answer(n, m.Reached.GetDigest(), m.Reached.GetProgress())
		}
	case *rackfabv1.RunResponse_Finished:
		if n := r.node(e.member, m.Finished.GetNode()); n != nil {
			n.result = m.Finished
			r.answer(n, m.Finished.GetDigest(), m.Finished.GetProgress())
		}
	}
	return nil
}

// streamEnded handles the end of a member's stream: expected after stop, a failure
// before.
func (r *run) streamEnded(e event) {
	switch {
	case r.leaving:
		r.members.left++
	case errors.Is(e.err, io.EOF):
		r.fail(e.member, errors.New("left the run before its end"))
	default:
		r.fail(e.member, e.err)
	}
}

// start starts all members. In a batch run, that is the grant of the run's end.
func (r *run) start() {
	r.limit.Stop()
	if len(r.service.impairments.impaired()) > 0 {
		r.sendImpairments()
	}
	r.sendAll(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Start{Start: &rackfabv1.RunStart{}}})
	if r.batch != nil {
		r.members.grant()
	}
	if r.recovery.count > 0 {
		r.rejoined()
		return
	}
	if r.batch != nil {
		r.batch.began = time.Now()
		r.clock.granted = r.clock.end
	}
	close(r.ready)
}

// advance returns the next grant if it is due. Otherwise it returns the time until
// then, 0 if an event or a call has to come first.
func (r *run) advance(now time.Time) time.Duration {
	if r.failed != nil || !r.members.allReady() || r.recovery.again || r.clock.reached < r.clock.granted {
		return 0
	}
	to, wait := r.clock.next(now)
	if to == r.clock.granted {
		return wait
	}
	r.clock.grant(to, now)
	r.give(to)
	return 0
}

// answer records a node's answer to the current grant. With the last answer, the rack has
// reached the end of the grant.
func (r *run) answer(n *hosted, digest uint64, p *rackfabv1.RunProgress) {
	if n.answered {
		r.fail(n.member, errors.New("answered a grant twice"))
	}
	if !r.members.answer(n, digest, p) || r.failed != nil {
		return
	}
	if r.recovery.again {
		r.caughtUp()
		return
	}
	r.clock.arrive(time.Now())
	r.recovery.mark(r.members.nodes)
	r.service.runs.Reach(r.clock.reached)
	if r.batch != nil {
		r.recovered()
		r.batch.wall = time.Since(r.batch.began)
		r.leave()
		return
	}
	r.sumUp()
	if !r.clock.moving() {
		_ = r.save() // the instant that the client sees; the next change reports a failure
	}
	r.captures.deliver(r.clock.reached, r.clock.end)
}

// tick fails the run if a node has been silent past the limit, or if the run stalls. It counts ticks instead
// of time, because no ticks pass while this process itself is suspended. Then it
// reports the progress of a batch run, or saves the journal of a live run.
func (r *run) tick() error {
	switch {
	case r.leaving:
		return nil
	case !r.members.allReady():
		if r.batch != nil && r.recovery.count > 0 {
			return r.batch.show(&r.members) // the client takes silence for a loss
		}
		return nil
	}
	silence := r.service.options.Silence
	for _, m := range r.members.all {
		m.still++
		if m.silent++; m.silent > int(silence/reportEvery) {
			r.fail(m, fmt.Errorf("silent for more than %v: its process is frozen or cut off", silence))
		}
	}
	r.endStall()
	if r.batch != nil {
		before := r.batch.shown
		err := r.batch.show(&r.members)
		if r.service.runs.Reach(r.batch.shown); r.batch.shown > before {
			r.recovered()
		}
		return err
	}
	r.saveRegularly()
	return nil
}

// drive takes a run through its loop, with announced nodes or, without any, as those of a
// recovery. Then the next run may begin.
func (s *service) drive(ctx context.Context, r *run, announced []discovery.Hello) {
	s.runs.Begin(nil)
	s.present.Store(r)
	r.err = r.loop(ctx, announced)
	s.directory.Forget(serve.FailedNode(r.err))
	s.present.Store(nil)
	<-s.turn
	close(r.ended)
}
