package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/cabling"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// service implements FabricService.
type service struct {
	rackfabv1.UnimplementedFabricServiceServer
	ctx       context.Context // of the process; its end ends all runs
	options   Options
	directory *discovery.Directory
	turn      chan int // holds the number of runs so far; a run takes it
	present   atomic.Pointer[session]
	playing   atomic.Pointer[run]
	bad       impairments
	runs      health.Runs
}

func newService(ctx context.Context, d *discovery.Directory, o Options) *service {
	s := &service{ctx: ctx, options: o, directory: d, turn: make(chan int, 1)}
	s.turn <- 0
	return s
}

// ListNodes lists the nodes that have announced themselves.
func (s *service) ListNodes(context.Context, *rackfabv1.ListNodesRequest) (*rackfabv1.ListNodesResponse, error) {
	list := &rackfabv1.ListNodesResponse{}
	for _, h := range s.directory.Nodes() {
		list.Nodes = append(list.Nodes, &rackfabv1.NodeInfo{
			Name: h.Name, Kind: cabling.Kind(h.Kind), Address: h.Address, Pid: int64(h.PID),
		})
	}
	return list, nil
}

// RunScenario runs a scenario on the rack; see FabricService.
func (s *service) RunScenario(q *rackfabv1.RunScenarioRequest, stream rackfabv1.FabricService_RunScenarioServer) error {
	scenario, err := check(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if s.present.Load() != nil {
		return status.Error(codes.FailedPrecondition, "a live run goes on: stop it first, as `rackfab down` does")
	}
	var count int
	select {
	case count = <-s.turn:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	defer func() { s.turn <- count + 1 }()
	hellos, err := s.assemble(ctx, scenario)
	if err != nil {
		return err
	}
	r := newRun(scenario, hellos, s.options, &s.bad, stream)
	r.runs = &s.runs
	r.runs.Begin(nil)
	s.playing.Store(r)
	defer s.playing.Store(nil)
	// Rack and number distinguish runs of the same ID on the bus.
	id := fmt.Sprintf("%s-%s-%d", s.options.Rack, q.GetRunId(), count)
	r.config = rackfabv1.RunConfig{RunId: id, Scenario: q.GetScenario(), Quiet: q.GetQuiet(), Telemetry: q.GetTelemetry(), NoteKinds: q.GetNoteKinds()}
	if err := r.play(ctx); err != nil {
		s.directory.Forget(serve.FailedNode(err))
		return err
	}
	return r.report()
}

// check validates the request and parses its scenario.
func check(q *rackfabv1.RunScenarioRequest) (*topology.Scenario, error) {
	if !validID(q.GetRunId()) {
		return nil, serve.Invalid("run_id", "want 1 to 64 letters, digits, %q and %q, got %q", "-", "_", q.GetRunId())
	}
	scenario, err := topology.Parse("scenario", q.GetScenario())
	if err != nil {
		return nil, serve.InvalidScenario(err)
	}
	return scenario, nil
}

// validID reports whether id can be part of a subject.
func validID(id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return len(id) >= 1 && len(id) <= 64 && strings.Trim(id, letters) == ""
}

// assemble waits until every node of the scenario has announced itself.
func (s *service) assemble(ctx context.Context, scenario *topology.Scenario) ([]discovery.Hello, error) {
	names := make([]string, len(scenario.Nodes))
	for i, n := range scenario.Nodes {
		names[i] = n.Name
	}
	wait, cancel := context.WithTimeout(ctx, s.options.NodeLimit)
	defer cancel()
	hellos, err := s.directory.Wait(wait, names)
	var missing *discovery.MissingError
	switch {
	case err == nil:
		return hellos, nil
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case errors.As(err, &missing):
		return nil, status.Errorf(codes.FailedPrecondition, "%v within %v", err, s.options.NodeLimit)
	}
	return nil, err
}

// report sends the results of a finished run.
func (r *run) report() error {
	digests := map[string]uint64{}
	for i, n := range r.scenario.Nodes {
		f := r.members[i].finished
		digests[n.Name] = f.GetDigest()
		event := &rackfabv1.RunScenarioResponse_Node{Node: &rackfabv1.NodeReport{Node: n.Name, Finished: f}}
		if err := r.stream.Send(&rackfabv1.RunScenarioResponse{Event: event}); err != nil {
			return err
		}
	}
	end := &rackfabv1.RunReport{Digest: node.Combine(byName(digests)), Progress: r.progress()}
	return r.stream.Send(&rackfabv1.RunScenarioResponse{Event: &rackfabv1.RunScenarioResponse_Report{Report: end}})
}
