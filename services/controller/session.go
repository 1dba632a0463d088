package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// session is a live run. The goroutine of live owns it; calls reach it through do,
// and the members' goroutines send it events.
//
// Invariant: reached <= granted. If they are equal, every member has answered the
// last grant, and the session may give the next one.
type session struct {
	scenario *topology.Scenario // with all changes so far
	bin      unit.Time          // of the original scenario
	config   rackfabv1.RunConfig
	runs     *health.Runs
	options  Options
	bad      *impairments
	members  []*member
	events   chan event
	calls    chan func()
	ended    chan struct{} // closed when live returns
	left     chan struct{} // closed when the next run may begin
	stop     bool

	ready    int
	granted  unit.Time
	reached  unit.Time
	answers  int // to the current grant
	unsent   []*rackfabv1.TimedChange
	standing *rackfabv1.WatchResponse // at reached, without the state of the clock

	clock
	waiters []waiter

	failed, failure string

	captures  []*capturing
	captured  int64 // number of captures so far
	recapture bool  // the captures have changed since the nodes received them

	ticks int       // of listen
	saved unit.Time // fabric time up to which the journal file is written
}

// waiter is a call that waits until the rack reaches an instant, pauses or fails.
type waiter struct {
	at   unit.Time
	done chan<- struct{}
}

// live drives the nodes until ctx ends or the session is stopped. It sends nil on up
// when all nodes are ready, or the error that prevents that.
func (s *session) live(ctx context.Context, up chan<- error) {
	defer close(s.ended)
	defer s.endCaptures()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, m := range s.members {
		go m.take(ctx, &s.config, s.events)
	}
	limit := time.NewTimer(s.options.NodeLimit)
	defer limit.Stop()
	listen := time.NewTicker(reportEvery)
	defer listen.Stop()
	next := time.NewTimer(time.Hour)
	defer next.Stop()
	for !s.stop {
		if s.ready == len(s.members) && up != nil {
			up <- nil
			up = nil
			limit.Stop()
		}
		if wait := s.advance(time.Now()); wait > 0 {
			next.Reset(wait)
		}
		select {
		case e := <-s.events:
			s.handle(e)
		case call := <-s.calls:
			call()
		case <-next.C:
		case <-listen.C:
			s.listen()
		case <-limit.C:
			if up == nil {
				continue
			}
			late := run{members: s.members, limit: s.options.NodeLimit}
			up <- late.late()
			return
		case <-ctx.Done():
			return
		}
		if up != nil && s.failed != "" {
			up <- serve.NodeFailed(s.failed, errors.New(s.failure))
			return
		}
	}
}

// do runs f on the session's goroutine. It returns false if the session has ended.
func (s *session) do(f func()) bool {
	done := make(chan struct{})
	select {
	case s.calls <- func() { f(); close(done) }:
		<-done
		return true
	case <-s.ended:
		return false
	}
}

func (s *session) handle(e event) {
	e.quiet = 0
	switch {
	case e.err != nil:
		if errors.Is(e.err, io.EOF) {
			e.err = errors.New("left the run")
		}
		s.fail(e.member, e.err)
	case e.message.GetReady() != nil:
		e.ready = true
		if s.ready++; s.ready == len(s.members) {
			s.tell(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Start{Start: &rackfabv1.RunStart{}}})
		}
	case e.message.GetCaptured() != nil:
		s.recorded(slices.Index(s.members, e.member), e.message.GetCaptured())
	case e.message.GetReached() != nil:
		e.reached = e.message.GetReached()
		if s.answers++; s.answers == len(s.members) && s.failed == "" {
			s.arrive(time.Now())
		}
	}
}

// fail stops the clock permanently. Only the first failure of a node is recorded.
func (s *session) fail(m *member, err error) {
	if s.failed != "" {
		return
	}
	s.failed, s.failure = m.name, status.Convert(err).Message()
	s.running, s.until = false, 0
	s.endCaptures()
	s.release()
}

// tell sends a step to every member.
func (s *session) tell(step *rackfabv1.RunRequest) {
	for _, m := range s.members {
		s.send(m, step)
	}
}

// send sends a step to a member.
func (s *session) send(m *member, step *rackfabv1.RunRequest) {
	if err := m.send(step); err != nil {
		s.fail(m, err)
	}
}

// saveTicks is the number of ticks between two writes of the journal's file.
const saveTicks = 10

// listen fails the run if a node has been silent past the limit. It counts ticks, as
// run.listen does.
func (s *session) listen() {
	if s.ready < len(s.members) {
		return
	}
	for _, m := range s.members {
		if m.quiet++; m.quiet > int(s.options.Silence/reportEvery) {
			s.fail(m, fmt.Errorf("silent for more than %v: its process is frozen or cut off", s.options.Silence))
		}
	}
	if s.ticks++; s.ticks%saveTicks == 0 && s.reached > s.saved {
		_ = s.save() // the next change reports the error
	}
}

// advance gives the next grant if it is due. Otherwise it returns the time until
// then, 0 if an event or a call has to come first.
func (s *session) advance(now time.Time) time.Duration {
	if s.failed != "" || s.ready < len(s.members) || s.reached < s.granted {
		return 0
	}
	to, wait := s.next(now, s.granted)
	if to = min(to, s.scenario.Duration); to <= s.granted {
		return wait
	}
	s.granted, s.answers, s.given = to, 0, now
	s.runs.Grant()
	grant := &rackfabv1.RunGrant{UntilPs: int64(to), Changes: s.unsent}
	if s.recapture {
		s.tellCaptures(grant)
	} else {
		s.tell(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Grant{Grant: grant}})
	}
	s.unsent = nil
	return 0
}

// arrive updates the session when every node has reached the grant.
func (s *session) arrive(now time.Time) {
	s.reached = s.granted
	s.runs.Reach(s.reached)
	s.adapt(now)
	s.take()
	s.handOn()
	if s.reached == s.scenario.Duration {
		s.running, s.until = false, 0
	}
	if s.until <= s.reached {
		s.until = 0
	}
	s.release()
}

// take sums up the members' answers.
func (s *session) take() {
	sum := &rackfabv1.RackStatus{}
	digests := map[string]uint64{}
	stats := make([]*rackfabv1.NodeStats, len(s.members))
	for i, m := range s.members {
		digests[m.name] = m.reached.GetDigest()
		sum.FrameHops += m.reached.GetProgress().GetFrameHops()
		stats[i] = m.reached.GetStats()
	}
	sum.Digest = node.Combine(byName(digests))
	s.standing = &rackfabv1.WatchResponse{Status: sum, Nodes: stats}
}

// wait returns a channel that is closed once the rack reaches an instant, or pauses
// or fails before it.
func (s *session) wait(at unit.Time) <-chan struct{} {
	done := make(chan struct{})
	s.waiters = append(s.waiters, waiter{at, done})
	s.release()
	return done
}

// release unblocks the calls that need not wait any longer.
func (s *session) release() {
	left := s.waiters[:0]
	for _, w := range s.waiters {
		stands := s.reached == s.granted && s.until == 0 && !s.running
		if s.reached >= w.at || s.failed != "" || stands {
			close(w.done)
		} else {
			left = append(left, w)
		}
	}
	s.waiters = left
}

// status returns the status of the rack.
func (s *session) status() *rackfabv1.RackStatus {
	out := &rackfabv1.RackStatus{
		Scenario: s.scenario.Name, Scheme: s.scenario.SchemeText(s.reached), State: s.state(),
		AtPs: int64(s.reached), GrantedPs: int64(s.granted), PacePsPerSecond: int64(s.pace),
		Changes: int32(len(s.scenario.Changes)), Nodes: int32(len(s.members)),
		FailedNode: s.failed, Failure: s.failure, ImpairedNodes: s.bad.nodes(),
	}
	out.FrameHops, out.Digest = s.standing.GetStatus().GetFrameHops(), s.standing.GetStatus().GetDigest()
	return out
}

func (s *session) state() rackfabv1.RackState {
	switch {
	case s.failed != "":
		return rackfabv1.RackState_RACK_STATE_FAILED
	case s.reached == s.scenario.Duration:
		return rackfabv1.RackState_RACK_STATE_ENDED
	case s.running || s.until > 0:
		return rackfabv1.RackState_RACK_STATE_RUNNING
	}
	return rackfabv1.RackState_RACK_STATE_PAUSED
}
