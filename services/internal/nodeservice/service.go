// Package nodeservice implements what the processes of NICs and of switches share: it serves
// NodeService, announces the nodes of a process to the rack, and takes their machines
// through runs. Packages nic and switchd serve the API of each kind. It connects the machines to the loop; it knows neither the algorithms nor the
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
	"github.com/rackfab/rackfab/fabric"
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

// Service implements NodeService for the nodes of a process.
type Service struct {
	rackfabv1.UnimplementedNodeServiceServer
	ctx       context.Context // of the process; its end ends all runs
	name      string          // of the process
	nodes     []topology.Node // their names and kinds
	conn      bus.Conn
	turn      chan struct{} // holds a token during a run
	tick      time.Duration // of the links, 0 for the default
	patience  time.Duration // how long a run waits for the previous one to end
	present   atomic.Pointer[run]
	collector grpc.ClientConnInterface // nil disables export
	runs      health.Runs
}

// patience is how long a new run waits for the previous one to end. A controller may
// start a run right after a failed one, before all nodes have left that.
const patience = 5 * time.Second

// New returns the service of a process with a name, and the names and kinds of its nodes,
// whose links are on conn. Its runs end when ctx does.
func New(ctx context.Context, name string, nodes []topology.Node, conn bus.Conn) *Service {
	s := &Service{ctx: ctx, name: name, nodes: nodes, conn: conn, turn: make(chan struct{}, 1), patience: patience}
	s.runs.Add((&run{}).metrics) // every counter, at 0
	return s
}

// Has reports whether the process has a node of the kind.
func (s *Service) Has(kind topology.NodeKind) bool {
	return slices.ContainsFunc(s.nodes, func(n topology.Node) bool { return n.Kind == kind })
}

// ExportTo sets the collector to which runs that request it export telemetry. Call it
// before the first run.
func (s *Service) ExportTo(collector grpc.ClientConnInterface) { s.collector = collector }

// Run takes the nodes through one run; see NodeService.
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
		return serve.Within("config", err)
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

// newRun builds the machines of the nodes, connects them to their links and starts to
// receive on these.
func (s *Service) newRun(c *rackfabv1.RunConfig) (*run, error) {
	if c == nil {
		return nil, status.Error(codes.FailedPrecondition, "want config first")
	}
	scenario, err := s.check(c)
	if err != nil {
		return nil, err
	}
	groups, err := groupsOf(scenario, c)
	if err != nil {
		return nil, err
	}
	r := &run{
		name: s.name, live: c.GetLive(), conn: s.conn, runs: &s.runs, ended: make(chan error, 1), answers: make(chan answer, 1),
	}
	r.scenario.Store(scenario)
	sampling, quiet, err := s.build(r, c, groups)
	if err != nil {
		return nil, err
	}
	if r.export, err = newExporter(s.collector, c, scenario, r.nodes, sampling); err != nil {
		return nil, err
	}
	r.runner, err = runner.New(runner.Config{
		Run: c.GetRunId(), Group: s.name, Nodes: r.group(scenario, groups), Conn: s.conn, Tick: s.tick, Quiet: quiet,
		Follow: r.export.selection(), Observe: r.observe, Progress: r.advance, Reached: r.reach,
	})
	if err != nil {
		r.export.close()
		return nil, status.Error(codes.Internal, err.Error())
	}
	r.plan(scenario, 0)
	r.takeSnapshots(0, &runner.Result{Nodes: make([]runner.NodeResult, len(r.nodes))})
	r.runs.Begin(r.metrics)
	return r, nil
}

// check checks that the config is for this process, and parses the scenario.
func (s *Service) check(c *rackfabv1.RunConfig) (*topology.Scenario, error) {
	if c.GetNode() != s.name {
		return nil, serve.Invalid("node", "this is node %q, not %q", s.name, c.GetNode())
	}
	if err := bus.CheckToken(c.GetRunId()); err != nil {
		return nil, serve.Invalid("run_id", "%v", err)
	}
	scenario, err := scenariofile.Parse("scenario", c.GetScenario())
	if err != nil {
		return nil, serve.InvalidScenario(err)
	}
	if c.GetLive() {
		scenario = scenario.Fold()
	}
	return scenario, nil
}

// groupsOf returns the name of the group of each node of the scenario.
func groupsOf(s *topology.Scenario, c *rackfabv1.RunConfig) ([]string, error) {
	of, index := make([]string, len(s.Nodes)), make(map[string]int, len(s.Nodes))
	for i, n := range s.Nodes {
		of[i], index[n.Name] = n.Name, i
	}
	for _, g := range c.GetGroups() {
		for _, name := range g.GetNodes() {
			i, ok := index[name]
			if !ok {
				return nil, serve.Invalid("groups", "the scenario has no node %q", name)
			}
			of[i] = g.GetName()
		}
	}
	return of, nil
}

// build adds the nodes of the process to the run. groups has the group of each node of
// the scenario.
func (s *Service) build(r *run, c *rackfabv1.RunConfig, groups []string) (sampling fabric.Sampling, quiet bool, err error) {
	scenario := r.scenario.Load()
	machines, err := rack.New(scenario)
	if err != nil {
		return sampling, false, serve.Invalid("scenario", "%v", err)
	}
	if every := c.GetTelemetry().GetBinPs(); every > 0 && r.live {
		machines.Sample(unit.Time(every))
	}
	quiet = true
	ends := scenario.PortMap()
	for i, n := range scenario.Nodes {
		if groups[i] != s.name {
			continue
		}
		if err := s.checkKind(n); err != nil {
			return sampling, false, err
		}
		h := &hosted{name: n.Name, index: i, links: len(ends[i])}
		if h.machine, err = machines.Machine(i); err != nil {
			return sampling, false, serve.Invalid("scenario", "node %s: %v", n.Name, err)
		}
		h.recordings.Store(&[]*recording{})
		if !r.live {
			excerpt, err := notes.New(c.GetNoteKinds())
			if err != nil {
				return sampling, false, serve.Invalid("note_kinds", "%v", err)
			}
			h.batch = &batch{recorder: measure.NewRecorder(scenario, i, ends[i]), excerpt: excerpt}
			quiet = c.GetQuiet() && !excerpt.PerFrame()
		}
		r.nodes = append(r.nodes, h)
	}
	if len(r.nodes) == 0 {
		return sampling, false, serve.Invalid("node", "the scenario has no node %q", s.name)
	}
	return machines.Sampling(), quiet, nil
}

// checkKind checks that a node of the scenario is one of the process.
func (s *Service) checkKind(n topology.Node) error {
	for _, own := range s.nodes {
		switch {
		case own.Name != n.Name:
		case own.Kind == n.Kind:
			return nil
		default:
			return serve.Invalid("node", "%q is a %s here, and a %s in the scenario", n.Name, own.Kind, n.Kind)
		}
	}
	return serve.Invalid("groups", "the process %s has no node %q", s.name, n.Name)
}

// Latest returns the latest snapshot of a node of a kind in the current run. "" is the name of
// the only node. Without a run the error is FAILED_PRECONDITION, for another name or kind it is
// INVALID_ARGUMENT.
func (s *Service) Latest(node string, kind topology.NodeKind) (*Snapshot, error) {
	r := s.present.Load()
	if r == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "node %s is not in a run", s.name)
	}
	if n := r.node(node); n != nil {
		if now := n.latest.Load(); now.Scenario.Nodes[n.index].Kind == kind {
			return now, nil
		}
	}
	var known []string
	for _, n := range s.nodes {
		if n.Kind == kind {
			known = append(known, n.Name)
		}
	}
	return nil, CheckNames("node", []string{node}, known, string(kind)+" of the process "+s.name)
}

// Settings returns a node's settings with the given keys, and all its settings if keys is
// empty. Its errors are those of Latest; an unknown key is INVALID_ARGUMENT.
func (s *Service) Settings(node string, kind topology.NodeKind, keys []string) (*rackfabv1.NodeSettings, error) {
	now, err := s.Latest(node, kind)
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.NodeSettings{Node: now.Name(), AtPs: int64(now.At)}
	var known []string
	for _, one := range scenariofile.NodeSettings(now.Scenario, now.Index, now.At) {
		known = append(known, one.Key)
		if len(keys) == 0 || slices.Contains(keys, one.Key) {
			out.Settings = append(out.Settings, &rackfabv1.NodeSetting{Key: one.Key, Value: one.Value, Live: one.Live})
		}
	}
	return out, CheckNames("keys", keys, known, "setting of "+now.Name())
}

// CheckNames returns INVALID_ARGUMENT if a request's field has a name that is unknown.
// noun is what each name denotes, such as "peer of s0".
func CheckNames(field string, names, known []string, noun string) error {
	for _, n := range names {
		if !slices.Contains(known, n) {
			return serve.Invalid(field, "%q is not a %s, want one of %s", n, noun, strings.Join(known, ", "))
		}
	}
	return nil
}
