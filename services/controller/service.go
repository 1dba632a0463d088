package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// service implements FabricService.
type service struct {
	rackfabv1.UnimplementedFabricServiceServer
	ctx         context.Context // of the process; its end ends all runs
	options     Options
	directory   *discovery.Directory
	turn        chan struct{} // holds a token during a run
	number      int           // of the latest run; the run that has the turn owns it
	present     atomic.Pointer[run]
	impairments impairments
	runs        health.Runs
}

// check validates the ID of a run and parses its scenario.
func check(id string, text []byte) (*topology.Scenario, error) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if id == "" || len(id) > 64 || strings.Trim(id, letters) != "" {
		return nil, serve.Invalid("run_id", "%q, want 1 to 64 letters, digits, %q and %q", id, "-", "_")
	}
	scenario, err := scenariofile.Parse("scenario", text)
	if err != nil {
		return nil, serve.InvalidScenario(err)
	}
	return scenario, nil
}

// newRun waits until every node of the scenario has announced itself, and returns a
// run. The caller has the turn, and loses it if there is an error. The number and the
// rack distinguish runs of the same ID on the bus.
func (s *service) newRun(ctx context.Context, scenario *topology.Scenario, config *rackfabv1.RunConfig) (*run, error) {
	names := make([]string, len(scenario.Nodes))
	for i, n := range scenario.Nodes {
		names[i] = n.Name
	}
	limited, cancel := context.WithTimeout(ctx, s.options.NodeLimit)
	defer cancel()
	announced, err := s.directory.Wait(limited, names)
	if err != nil {
		<-s.turn
		if ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		return nil, status.Errorf(codes.FailedPrecondition, "%v within %v", err, s.options.NodeLimit)
	}
	config.RunId = fmt.Sprintf("%s-%s-%d", s.options.Rack, config.GetRunId(), s.number)
	s.number++
	members := newMembers(scenario, announced)
	config.Groups = members.groups()
	return &run{
		service: s, scenario: scenario, config: config, members: members, clock: newClock(scenario.Duration),
		calls: make(chan func()), ready: make(chan struct{}), ended: make(chan struct{}),
	}, nil
}

// drive takes a run through its loop. Then the next run may begin.
func (s *service) drive(ctx context.Context, r *run) {
	s.runs.Begin(nil)
	s.present.Store(r)
	r.err = r.loop(ctx)
	s.directory.Forget(serve.FailedNode(r.err))
	s.present.Store(nil)
	<-s.turn
	close(r.ended)
}

// RunScenario runs a scenario on the rack; see FabricService.
func (s *service) RunScenario(q *rackfabv1.RunScenarioRequest, stream rackfabv1.FabricService_RunScenarioServer) error {
	scenario, err := check(q.GetRunId(), q.GetScenario())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if present := s.present.Load(); present != nil && present.batch == nil {
		return status.Error(codes.FailedPrecondition, "a live run is active: stop it first, as `rackfab down` does")
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	r, err := s.newRun(ctx, scenario, &rackfabv1.RunConfig{
		RunId: q.GetRunId(), Scenario: q.GetScenario(), Quiet: q.GetQuiet(), Telemetry: q.GetTelemetry(), NoteKinds: q.GetNoteKinds(),
	})
	if err != nil {
		return err
	}
	r.batch = &batch{client: stream, end: scenario.Duration}
	if s.drive(ctx, r); r.err != nil {
		return r.err
	}
	return r.batch.report(&r.members)
}

var errNoRack = status.Error(codes.FailedPrecondition, "no live rack: StartRack starts one, as `rackfab up --controller` does")

// call runs f on the goroutine of the live run and returns its error.
func (s *service) call(f func(*run) error) (err error) {
	r := s.present.Load()
	if r == nil || r.batch != nil {
		return errNoRack
	}
	select {
	case <-r.ready:
	default:
		return errNoRack
	}
	if !r.do(func() { err = f(r) }) {
		return errNoRack
	}
	return err
}

// selectNames returns the names in a list of names and ranges, and all known names for
// "".
func selectNames(list string, known []string) ([]string, error) {
	if list == "" {
		return known, nil
	}
	names, err := topology.Names(list)
	if err != nil {
		return nil, serve.Invalid("nodes", "%v", err)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, serve.Invalid("nodes", "no node is called %s", n)
		}
	}
	return names, nil
}
