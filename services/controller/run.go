package controller

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// leaveLimit is the time that nodes have to leave a finished batch run.
const leaveLimit = 3 * time.Second

// run is a run of the rack. A live run advances by the grants of its clock until it is
// stopped. A batch run is a live run with one grant, its end. The goroutine of loop
// owns it; calls reach it through do, and the members' goroutines send it events.
type run struct {
	service   *service
	id        string                 // of the request
	scenario  *topology.Scenario     // with all changes so far
	extender  *scenariofile.Extender // of scenario; nil at first and after an undo
	unsaved   unsaved
	config    *rackfabv1.RunConfig
	members   members
	abandon   context.CancelFunc // makes the members leave the present attempt
	recovery  recovery
	clock     clock
	batch     *batch // nil in a live run
	journal   journal
	captures  captures
	given     int                      // changes in the config's scenario
	callers   map[int]string           // traceparents of the latest changes, by the index of the change
	unsent    []*rackfabv1.TimedChange // those for the next grant
	sentBytes int                      // size of the changes that are not in the config's scenario, on the wire
	latest    *rackfabv1.WatchResponse // at the time reached, without the state of the clock
	failed    *member                  // that failed first, nil for none
	leaving   bool                     // the run has ended, and its nodes may leave
	stopping  bool                     // a client has stopped the live run

	limit *time.Timer // until all members are ready, then until they have left
	calls chan func()
	stop  bool          // ends the loop
	ready chan struct{} // closed when all members are ready
	ended chan struct{} // closed when the next run may begin
	err   error         // of the loop; valid after ended
}

// unsaved are the changes that are not in the journal yet.
type unsaved struct {
	before *topology.Scenario // without them
	done   []func(error)      // called once they are in the journal, or have been undone
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

// node returns the node that a message of a member concerns. A member that does not have
// it fails, and node returns nil.
func (r *run) node(m *member, name string) *hosted {
	n := m.node(name)
	if n == nil {
		r.fail(m, fmt.Errorf("sent a message about %q, which is not its node", name))
	}
	return n
}

// give sends all nodes a grant, with the changes and captures that they do not know.
func (r *run) give(to unit.Time) {
	r.members.grant()
	r.service.runs.Grant()
	for _, m := range r.members.all {
		grant := &rackfabv1.RunGrant{UntilPs: int64(to), Changes: r.unsent, Captures: r.captures.update(m.nodes)}
		r.send(m, &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Grant{Grant: grant}})
	}
	r.unsent, r.captures.changed = nil, false
}

// leave lets the nodes leave the run, which has come to its end.
func (r *run) leave() {
	r.leaving = true
	r.sendAll(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Stop{Stop: &rackfabv1.RunStop{}}})
	r.limit.Reset(leaveLimit)
}

// fail records the failure of a member. The loop handles the first one (lost).
func (r *run) fail(m *member, err error) {
	if m.failure == nil {
		m.failure = err
	}
	if r.failed == nil {
		r.failed = m
	}
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
