package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// reportEvery is the interval between two ticks of a run, in wall time.
const reportEvery = 200 * time.Millisecond

// leaveLimit is the time that nodes have to leave a finished batch run.
const leaveLimit = 3 * time.Second

// run is a run of the rack. A live run advances by the grants of its clock until it is
// stopped. A batch run is a live run with one grant, its end. The goroutine of loop
// owns it; calls reach it through do, and the members' goroutines send it events.
type run struct {
	service  *service
	scenario *topology.Scenario // with all changes so far
	config   *rackfabv1.RunConfig
	members  members
	clock    clock
	batch    *batch // nil in a live run
	journal  journal
	captures captures
	unsent   []*rackfabv1.TimedChange // changes for the next grant
	latest   *rackfabv1.WatchResponse // at the time reached, without the state of the clock
	failed   *member                  // that failed first, nil for none

	limit *time.Timer // until all members are ready, then until they have left
	calls chan func()
	stop  bool          // ends the loop
	ready chan struct{} // closed when all members are ready
	ended chan struct{} // closed when the next run may begin
	err   error         // of the loop; valid after ended
}

// loop takes all nodes through the run until the nodes have left a finished batch run,
// the run is stopped, or ctx ends. It returns an error if the run has not come to its
// end, or if a node fails. A live run whose nodes are ready survives the failure of a
// node: it stops its clock. When loop returns, all nodes leave.
func (r *run) loop(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.captures.end()
	for _, m := range r.members.all {
		go m.receive(ctx, &r.service.options, r.config, r.members.events)
	}
	r.limit = time.NewTimer(r.service.options.NodeLimit)
	defer r.limit.Stop()
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	next := time.NewTimer(time.Hour)
	defer next.Stop()
	for !r.stop && r.members.left < len(r.members.all) {
		if wait := r.advance(time.Now()); wait > 0 {
			next.Reset(wait)
		}
		var err error
		select {
		case e := <-r.members.events:
			err = r.handle(e)
		case call := <-r.calls:
			call()
		case <-next.C:
		case <-tick.C:
			err = r.tick()
		case <-r.limit.C:
			if r.members.allReady() {
				return nil // the members do not leave
			}
			err = status.Errorf(codes.FailedPrecondition, "nodes that were not ready within %v: %s", r.service.options.NodeLimit, r.members.notReady())
		case <-ctx.Done():
			err = status.FromContextError(ctx.Err()).Err()
		}
		if err == nil && r.failed != nil && (r.batch != nil || !r.members.allReady()) {
			err = serve.NodeFailed(r.failed.name, r.failed.failure)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// do runs f on the goroutine of the loop. It returns false if the run has ended.
func (r *run) do(f func()) bool {
	done := make(chan struct{})
	select {
	case r.calls <- func() { f(); close(done) }:
		<-done
		return true
	case <-r.ended:
		return false
	}
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
			e.progress = m.Progress
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

// node returns the node that a message of a member concerns. A member that does not have
// it fails, and node returns nil.
func (r *run) node(m *member, name string) *hosted {
	n := m.node(name)
	if n == nil {
		r.fail(m, fmt.Errorf("sent a message about %q, which is not its node", name))
	}
	return n
}

// streamEnded handles the end of a member's stream: expected after stop, a failure
// before.
func (r *run) streamEnded(e event) {
	switch {
	case r.finished():
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
	if r.batch != nil {
		r.batch.began = time.Now()
		r.clock.granted = r.clock.end
	}
	r.sendAll(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Start{Start: &rackfabv1.RunStart{}}})
	close(r.ready)
}

// advance returns the next grant if it is due. Otherwise it returns the time until
// then, 0 if an event or a call has to come first.
func (r *run) advance(now time.Time) time.Duration {
	if r.failed != nil || !r.members.allReady() || r.clock.reached < r.clock.granted {
		return 0
	}
	to, wait := r.clock.next(now)
	if to == r.clock.granted {
		return wait
	}
	r.clock.grant(to, now)
	r.members.grant()
	r.service.runs.Grant()
	for _, m := range r.members.all {
		grant := &rackfabv1.RunGrant{UntilPs: int64(to), Changes: r.unsent, Captures: r.captures.update(m.nodes)}
		r.send(m, &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Grant{Grant: grant}})
	}
	r.unsent, r.captures.changed = nil, false
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
	r.clock.arrive(time.Now())
	r.service.runs.Reach(r.clock.reached)
	if r.batch != nil {
		r.batch.wall = time.Since(r.batch.began)
		r.sendAll(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Stop{Stop: &rackfabv1.RunStop{}}})
		r.limit.Reset(leaveLimit)
		return
	}
	r.sumUp()
	r.captures.deliver(r.clock.reached, r.clock.end)
}

// finished reports whether a batch run has come to its end, and its nodes may leave.
func (r *run) finished() bool { return r.batch != nil && r.clock.reached == r.clock.end }

// fail records the first failure of a node, which stops the clock permanently.
func (r *run) fail(m *member, err error) {
	if r.failed != nil {
		return
	}
	r.failed, m.failure = m, err
	r.clock.halt()
	r.captures.end()
}

// send sends a step to a member.
func (r *run) send(m *member, step *rackfabv1.RunRequest) {
	if err := m.send(step); err != nil {
		r.fail(m, err)
	}
}

// sendAll sends a step to every member.
func (r *run) sendAll(step *rackfabv1.RunRequest) {
	for _, m := range r.members.all {
		r.send(m, step)
	}
}

// tick fails the run if a node has been silent past the limit. It counts ticks instead
// of time, because no ticks pass while this process itself is suspended. Then it
// reports the progress of a batch run, or saves the journal of a live run.
func (r *run) tick() error {
	if !r.members.allReady() || r.finished() {
		return nil
	}
	silence := r.service.options.Silence
	for _, m := range r.members.all {
		if m.silent++; m.silent > int(silence/reportEvery) {
			r.fail(m, fmt.Errorf("silent for more than %v: its process is frozen or cut off", silence))
		}
	}
	if r.batch != nil {
		err := r.batch.show(&r.members)
		r.service.runs.Reach(r.batch.shown)
		return err
	}
	r.saveRegularly()
	return nil
}

// sendImpairments sends each process its impairment.
func (r *run) sendImpairments() {
	for _, m := range r.members.all {
		r.send(m, &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Impair{Impair: r.service.impairments.of(m.nodes)}})
	}
}

// sumUp updates the latest statistics from the members' answers to a grant.
func (r *run) sumUp() {
	sum := &rackfabv1.RackStatus{Digest: r.members.digest()}
	for _, m := range r.members.all {
		sum.FrameHops += m.progress.GetFrameHops()
	}
	stats := make([]*rackfabv1.NodeStats, len(r.members.nodes))
	for i, n := range r.members.nodes {
		stats[i] = n.stats
	}
	r.latest = &rackfabv1.WatchResponse{Status: sum, Nodes: stats}
}

// canAdvance returns an error that says why the clock cannot run, nil if it can.
func (r *run) canAdvance() error {
	switch {
	case r.failed != nil:
		why := status.Convert(r.failed.failure).Message()
		return serve.NodeFailed(r.failed.name, fmt.Errorf("%s; the run failed at %s", why, r.clock.reached))
	case r.clock.granted >= r.clock.end:
		return status.Errorf(codes.FailedPrecondition, "the rack has reached the end of fabric time at %s", r.clock.end)
	}
	return nil
}
