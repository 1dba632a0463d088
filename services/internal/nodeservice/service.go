// Package nodeservice implements the process of a node, NIC or switch: it serves
// NodeService, announces its address to the rack, and takes its machine through
// runs. It connects the machine to the loop; it knows neither the algorithms nor the
// link protocol.
package nodeservice

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/rack"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/notes"
	"github.com/rackfab/rackfab/services/internal/runner"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Service implements NodeService for one node.
type Service struct {
	rackfabv1.UnimplementedNodeServiceServer
	ctx       context.Context // of the process; its end ends all runs
	name      string
	kind      topology.NodeKind
	conn      bus.Conn
	turn      chan struct{} // holds a token during a run
	patience  time.Duration // how long a run waits for the previous one to end
	present   atomic.Pointer[run]
	collector grpc.ClientConnInterface // nil disables export
	runs      health.Runs
}

// patience is how long a new run waits for the previous one to end. A controller may
// start a run right after a failed one, before all nodes have left that.
const patience = 5 * time.Second

// New returns the service of the node with the given name and kind, whose links are
// on conn. Its runs end when ctx does.
func New(ctx context.Context, name string, kind topology.NodeKind, conn bus.Conn) *Service {
	s := &Service{ctx: ctx, name: name, kind: kind, conn: conn, turn: make(chan struct{}, 1), patience: patience}
	s.runs.Add((&run{}).metrics) // every counter, at 0
	return s
}

// ExportTo sets the collector to which runs that request it export telemetry. Call it
// before the first run.
func (s *Service) ExportTo(collector grpc.ClientConnInterface) { s.collector = collector }

// Run takes the node through one run; see NodeService.
func (s *Service) Run(stream rackfabv1.NodeService_RunServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err := s.waitTurn(ctx); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	steps := receive(ctx, stream)
	var first *rackfabv1.RunRequest // nil if the controller has left
	select {
	case first = <-steps:
	case <-ctx.Done():
		return errStopped
	}
	r, err := s.newRun(first.GetConfig())
	if err != nil {
		return err
	}
	defer r.close()
	s.present.Store(r)
	defer s.present.Store(nil)
	return r.drive(ctx, stream, steps)
}

// waitTurn waits until no other run is active.
func (s *Service) waitTurn(ctx context.Context) error {
	limit := time.NewTimer(s.patience)
	defer limit.Stop()
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-limit.C:
		return status.Errorf(codes.FailedPrecondition, "node %s is in another run", s.name)
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// newRun builds the node's machine, connects it to its links and starts to receive on
// them.
func (s *Service) newRun(c *rackfabv1.RunConfig) (*run, error) {
	if c == nil {
		return nil, status.Error(codes.FailedPrecondition, "want config first")
	}
	scenario, index, err := s.find(c)
	if err != nil {
		return nil, err
	}
	machines, err := rack.New(scenario)
	if err != nil {
		return nil, serve.Invalid("scenario", "%v", err)
	}
	if every := c.GetTelemetry().GetBinPs(); every > 0 && c.GetLive() {
		machines.Sample(unit.Time(every))
	}
	machine, err := machines.Machine(index)
	if err != nil {
		return nil, serve.Invalid("scenario", "node %s: %v", s.name, err)
	}
	ports := ports(scenario, index)
	r := &run{
		machine: machine, index: index, links: len(ports), conn: s.conn, runs: &s.runs,
		ended: make(chan error, 1), answers: make(chan answer, 1),
	}
	r.scenario.Store(scenario)
	r.recordings.Store(&[]*recording{})
	quiet := true
	if !c.GetLive() {
		excerpt, err := notes.New(c.GetNoteKinds())
		if err != nil {
			return nil, serve.Invalid("note_kinds", "%v", err)
		}
		r.batch = &batch{recorder: measure.NewRecorder(scenario, index), excerpt: excerpt}
		quiet = c.GetQuiet() && !excerpt.PerFrame()
	}
	if r.export, err = newExporter(s.collector, c, scenario, index, machines.Sampling()); err != nil {
		return nil, err
	}
	r.runner, err = runner.New(runner.Config{
		Run: c.GetRunId(), Nodes: []runner.Node{{Name: s.name, Machine: machine, Ports: ports}}, Conn: s.conn, Quiet: quiet,
		Follow: r.export.selection(), Observe: r.observe, Progress: r.advance, Reached: r.reach,
	})
	if err != nil {
		r.export.close()
		return nil, status.Error(codes.Internal, err.Error())
	}
	r.runner.Plan(0, rack.Plan(scenario, 0, index)[0])
	r.takeSnapshot(0, &runner.Result{Nodes: make([]runner.NodeResult, 1)})
	r.runs.Begin(r.metrics)
	return r, nil
}

// find parses the scenario and finds this node in it.
func (s *Service) find(c *rackfabv1.RunConfig) (*topology.Scenario, int, error) {
	if c.GetNode() != s.name {
		return nil, 0, serve.Invalid("node", "this is node %q, not %q", s.name, c.GetNode())
	}
	if err := bus.CheckToken(c.GetRunId()); err != nil {
		return nil, 0, serve.Invalid("run_id", "%v", err)
	}
	scenario, err := scenariofile.Parse("scenario", c.GetScenario())
	if err != nil {
		return nil, 0, serve.InvalidScenario(err)
	}
	for i, n := range scenario.Nodes {
		if n.Name != s.name {
			continue
		}
		if n.Kind != s.kind {
			return nil, 0, serve.Invalid("node", "%q is a %s here, and a %s in the scenario", s.name, s.kind, n.Kind)
		}
		return scenario, i, nil
	}
	return nil, 0, serve.Invalid("node", "the scenario has no node %q", s.name)
}

// snapshot returns the latest snapshot of the current run.
func (s *Service) snapshot() (*snapshot, error) {
	r := s.present.Load()
	if r == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "node %s is not in a run", s.name)
	}
	return r.latest.Load(), nil
}

// settings returns the node's settings with the given keys, and all its settings if
// keys is empty.
func (s *Service) settings(keys []string) (*rackfabv1.NodeSettings, error) {
	now, err := s.snapshot()
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.NodeSettings{Node: s.name, AtPs: int64(now.at)}
	var known []string
	for _, one := range scenariofile.NodeSettings(now.scenario, now.index, now.at) {
		known = append(known, one.Key)
		if len(keys) == 0 || slices.Contains(keys, one.Key) {
			out.Settings = append(out.Settings, &rackfabv1.NodeSetting{Key: one.Key, Value: one.Value, Live: one.Live})
		}
	}
	return out, checkNames("keys", keys, known, "setting of "+s.name)
}

// checkNames returns INVALID_ARGUMENT if a request's field has a name that is unknown.
// noun is what each name denotes, such as "peer of s0".
func checkNames(field string, names, known []string, noun string) error {
	for _, n := range names {
		if !slices.Contains(known, n) {
			return serve.Invalid(field, "%q is not a %s, want one of %s", n, noun, strings.Join(known, ", "))
		}
	}
	return nil
}
