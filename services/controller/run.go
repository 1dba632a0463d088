package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// reportEvery is the interval between two reports of progress, in wall time.
const reportEvery = 200 * time.Millisecond

// leaveLimit is the time that nodes have to leave a finished run.
const leaveLimit = 3 * time.Second

// run is one batch run of the rack. The goroutine of play owns it; the members'
// goroutines only send it events.
type run struct {
	scenario *topology.Scenario
	config   rackfabv1.RunConfig // without the node's name
	limit    time.Duration       // for all nodes to be ready
	silence  time.Duration       // of a node, after which the run fails
	stream   rackfabv1.FabricService_RunScenarioServer
	members  []*member // in the order of the scenario
	events   chan event
	bad      *impairments
	impaired chan struct{} // holds a token when bad has changed
	began    time.Time
	runs     *health.Runs
	wall     time.Duration // once finished
	reached  int64         // fabric time reported last, in picoseconds

	ready, finished, left int // number of members that have come to each stage
}

// event is a message received from a member, or the error that ended its stream.
type event struct {
	*member
	message *rackfabv1.RunResponse
	err     error // io.EOF if the node ended the stream without an error
}

func newRun(s *topology.Scenario, hellos []discovery.Hello, o Options, bad *impairments, stream rackfabv1.FabricService_RunScenarioServer) *run {
	r := &run{
		scenario: s, limit: o.NodeLimit, silence: o.Silence, stream: stream, events: make(chan event), began: time.Now(),
		bad: bad, impaired: make(chan struct{}, 1),
	}
	for _, h := range hellos {
		r.members = append(r.members, &member{name: h.Name, address: h.Address, who: o.TLS, calls: o.calls})
	}
	return r
}

// play takes all nodes through the run. The first node that fails ends the run: the
// error names that node, and cancelling ctx makes all others leave.
func (r *run) play(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, m := range r.members {
		go m.take(ctx, &r.config, r.events)
	}
	limit := time.NewTimer(r.limit)
	defer limit.Stop()
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for r.left < len(r.members) {
		select {
		case e := <-r.events:
			if err := r.handle(e); err != nil {
				return err
			}
			if r.finished == len(r.members) {
				limit.Reset(leaveLimit)
			} else if r.ready == len(r.members) {
				limit.Stop()
			}
		case <-r.impaired:
			if r.ready < len(r.members) || r.finished == len(r.members) {
				continue // start sends the impairments, or the nodes are leaving
			}
			if err := r.impair(); err != nil {
				return err
			}
		case <-tick.C:
			if err := r.listen(); err != nil {
				return err
			}
			if err := r.show(); err != nil {
				return err
			}
		case <-limit.C:
			if r.finished == len(r.members) {
				return nil
			}
			return r.late()
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	return nil
}

// handle processes one event: it starts the members once all are ready, and stops
// them once all have finished.
func (r *run) handle(e event) error {
	e.quiet = 0
	if e.err != nil {
		return r.gone(e)
	}
	switch event := e.message.GetEvent().(type) {
	case *rackfabv1.RunResponse_Ready:
		e.ready = true
		if r.ready++; r.ready == len(r.members) {
			return r.start()
		}
	case *rackfabv1.RunResponse_Notes:
		return r.stream.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Notes{Notes: event.Notes}})
	case *rackfabv1.RunResponse_Progress:
		if e.finished == nil {
			e.progress = event.Progress
		}
	case *rackfabv1.RunResponse_Finished:
		if e.finished != nil {
			return serve.NodeFailed(e.name, errors.New("finished twice"))
		}
		e.finished, e.progress = event.Finished, event.Finished.GetProgress()
		if r.finished++; r.finished == len(r.members) {
			r.wall = time.Since(r.began)
			r.runs.Reach(r.scenario.Duration)
			return r.tell(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Stop{Stop: &rackfabv1.RunStop{}}})
		}
	}
	return nil
}

// start sends all members their impairments, if there are any, and starts them.
func (r *run) start() error {
	if len(r.bad.nodes()) > 0 {
		if err := r.impair(); err != nil {
			return err
		}
	}
	return r.tell(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Start{Start: &rackfabv1.RunStart{}}})
}

// gone handles the end of a member's stream: expected after stop, a failure before.
func (r *run) gone(e event) error {
	if r.finished == len(r.members) {
		r.left++
		return nil
	}
	if errors.Is(e.err, io.EOF) {
		e.err = errors.New("left the run before its end")
	}
	return serve.NodeFailed(e.name, e.err)
}

// listen returns an error if a node has been silent past the limit. It counts ticks
// instead of time, because no ticks pass while this process itself is suspended.
func (r *run) listen() error {
	if r.ready < len(r.members) || r.finished == len(r.members) {
		return nil
	}
	for _, m := range r.members {
		if m.quiet++; m.quiet > int(r.silence/reportEvery) {
			return serve.NodeFailed(m.name, fmt.Errorf("silent for more than %v: its process is frozen or cut off", r.silence))
		}
	}
	return nil
}

// tell sends a step to every member.
func (r *run) tell(step *rackfabv1.RunRequest) error {
	for _, m := range r.members {
		if err := m.send(step); err != nil {
			return err
		}
	}
	if r.finished == 0 {
		r.began = time.Now()
	}
	return nil
}

// late returns the error of a run whose nodes are not ready in time.
func (r *run) late() error {
	var names []string
	for _, m := range r.members {
		if !m.ready {
			names = append(names, m.name)
		}
	}
	return status.Errorf(codes.FailedPrecondition, "nodes that were not ready within %v: %s", r.limit, strings.Join(names, ", "))
}

// show reports progress to the client.
func (r *run) show() error {
	if r.ready < len(r.members) || r.finished == len(r.members) {
		return nil
	}
	now := r.progress()
	if now.GetFabricTimePs() < int64(r.scenario.Duration) { // otherwise all remaining events are in flight between nodes
		r.reached = max(r.reached, now.GetFabricTimePs())
	}
	now.FabricTimePs = r.reached
	r.runs.Reach(unit.Time(r.reached))
	p := &rackfabv1.RunScenarioResponse_Progress{Progress: now}
	if err := r.stream.Send(&rackfabv1.RunScenarioResponse{Event: p}); err != nil {
		return fmt.Errorf("report progress: %w", err)
	}
	return nil
}

// progress returns the progress of the rack: the members' least fabric time, and the
// sum of their hops and envelopes.
func (r *run) progress() *rackfabv1.FabricProgress {
	sum := &rackfabv1.FabricProgress{FabricTimePs: int64(r.scenario.Duration), Seconds: r.seconds()}
	for _, m := range r.members {
		sum.FabricTimePs = min(sum.FabricTimePs, m.progress.GetFabricTimePs())
		sum.FrameHops += m.progress.GetFrameHops()
		sum.Envelopes += m.progress.GetEnvelopes()
	}
	return sum
}

// seconds returns the wall time from the start until the last node finished, or
// until now.
func (r *run) seconds() float64 {
	if r.wall > 0 {
		return r.wall.Seconds()
	}
	return time.Since(r.began).Seconds()
}

// byName returns the values in the order of their keys.
func byName(m map[string]uint64) []uint64 {
	list := make([]uint64, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[name])
	}
	return list
}
