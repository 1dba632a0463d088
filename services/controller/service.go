package controller

import (
	"context"
	"errors"
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
	"github.com/rackfab/rackfab/services/internal/cabling"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// service implements FabricService.
type service struct {
	rackfabv1.UnimplementedFabricServiceServer
	ctx         context.Context // of the process; its end ends all runs
	options     Options
	directory   *discovery.Directory
	turn        chan int // holds the number of runs so far; a run takes it
	present     atomic.Pointer[run]
	impairments impairments
	runs        health.Runs
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

// newRun waits until every node of the scenario has announced itself, and returns the
// run with this number. The number and the rack distinguish runs of the same ID on the
// bus.
func (s *service) newRun(ctx context.Context, number int, scenario *topology.Scenario, config *rackfabv1.RunConfig) (*run, error) {
	names := make([]string, len(scenario.Nodes))
	for i, n := range scenario.Nodes {
		names[i] = n.Name
	}
	limited, cancel := context.WithTimeout(ctx, s.options.NodeLimit)
	defer cancel()
	announced, err := s.directory.Wait(limited, names)
	var missing *discovery.MissingError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case errors.As(err, &missing):
		return nil, status.Errorf(codes.FailedPrecondition, "%v within %v", err, s.options.NodeLimit)
	default:
		return nil, err
	}
	config.RunId = fmt.Sprintf("%s-%s-%d", s.options.Rack, config.GetRunId(), number)
	return &run{
		service: s, number: number, scenario: scenario, config: config,
		members: newMembers(scenario, announced), clock: newClock(scenario.Duration),
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
	s.turn <- r.number + 1
	close(r.ended)
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
