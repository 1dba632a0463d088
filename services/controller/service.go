package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// reportEvery is the interval between two ticks of a run, in wall time.
const reportEvery = 200 * time.Millisecond

// service implements FabricService.
type service struct {
	rackfabv1.UnimplementedFabricServiceServer
	ctx         context.Context // of the process; its end ends all runs
	options     Options
	directory   *discovery.Directory
	turn        chan struct{} // holds a token during a run
	began       int64         // Unix time of the start, in ns
	number      int           // of the latest run; the run that has the turn owns it
	present     atomic.Pointer[run]
	impairments impairments
	runs        health.Runs
	recoveries  atomic.Int64
}

// count is the source of the counter of recoveries.
func (s *service) count(put health.Put) { put(health.Recoveries, float64(s.recoveries.Load())) }

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
// run and the announcements. The caller has the turn, and loses it if there is an error.
func (s *service) newRun(ctx context.Context, scenario *topology.Scenario, config *rackfabv1.RunConfig) (*run, []discovery.Hello, error) {
	limited, cancel := context.WithTimeout(ctx, s.options.NodeLimit)
	defer cancel()
	announced, err := s.directory.Wait(limited, nodeNames(scenario))
	if err != nil {
		<-s.turn
		if ctx.Err() != nil {
			return nil, nil, status.FromContextError(ctx.Err()).Err()
		}
		return nil, nil, status.Errorf(codes.FailedPrecondition, "%v within %v", err, s.options.NodeLimit)
	}
	return s.prepare(scenario, config), announced, nil
}

// prepare returns a run without members.
func (s *service) prepare(scenario *topology.Scenario, config *rackfabv1.RunConfig) *run {
	if config.GetLive() {
		scenario = scenario.Fold()
	}
	return &run{
		service: s, given: len(scenario.Changes), id: config.GetRunId(), scenario: scenario, config: config, clock: newClock(scenario.Duration),
		calls: make(chan func()), ready: make(chan struct{}), ended: make(chan struct{}),
	}
}

// nodeNames returns the names of the nodes of a scenario.
func nodeNames(s *topology.Scenario) []string {
	names := make([]string, len(s.Nodes))
	for i, n := range s.Nodes {
		names[i] = n.Name
	}
	return names
}

// name returns a name on the bus for a run with the given ID. The rack, the start of this
// controller and the number distinguish it from others: nodes may still execute an attempt
// of the controller before, whose envelopes must not count. The run that has the turn
// calls it.
func (s *service) name(id string) string {
	s.number++
	return fmt.Sprintf("%s-%s-%x-%d", s.options.Rack, id, s.began, s.number-1)
}

var errNoRack = status.Error(codes.FailedPrecondition, "no live rack: StartRack starts one, as `rackfab up --controller` does")

var errStarting = status.Error(codes.FailedPrecondition, "a run is starting: it waits for its nodes")

// call runs f on the goroutine of the live run and returns its error.
func (s *service) call(f func(*run) error) (err error) {
	r := s.present.Load()
	switch {
	case r == nil && len(s.turn) > 0:
		return errStarting
	case r == nil || r.batch != nil:
		return errNoRack
	}
	select {
	case <-r.ready:
	default:
		return errStarting
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
