package nodeservice

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/bus/faulty"
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

// run is the node's part in one run of the rack. It receives on the node's links until
// close. A batch run is a live run with one grant, its end.
type run struct {
	machine  fabric.Machine
	index    int // of the node in the scenario
	links    int
	scenario atomic.Pointer[topology.Scenario] // with all changes so far
	runner   *runner.Runner
	conn     bus.Conn
	faults   atomic.Pointer[faulty.Conn] // nil until the node is impaired
	export   *exporter
	runs     *health.Runs // of the process
	batch    *batch       // nil in a live run

	// The goroutine of drive owns these.
	granted unit.Time          // end of the latest grant of a live run
	stop    context.CancelFunc // ends the loop; nil before start
	ended   chan error         // receives the error of the loop, and is closed

	// The loop owns these.
	reached unit.Time
	tally   tally

	// The loop writes these, others read them.
	position   atomic.Pointer[position]
	latest     atomic.Pointer[snapshot]
	recordings atomic.Pointer[[]*recording]
	progress   chan struct{} // holds a token if the position is new
	answers    chan answer   // holds the answer to the latest grant
}

// batch is what only a batch run has.
type batch struct {
	recorder *measure.Recorder
	excerpt  *notes.Excerpt // the notes that the config requests
	before   usage          // at the start
}

// position is how far the loop has come.
type position struct {
	at     unit.Time // of the earliest pending event, at most the grant
	result runner.Result
}

// answer returns the messages that answer a grant.
type answer func() ([]*rackfabv1.RunResponse, error)

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
		ended: make(chan error, 1), progress: make(chan struct{}, 1), answers: make(chan answer, 1),
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
		Run: c.GetRunId(), Node: s.name, Machine: machine, Ports: ports, Conn: s.conn, Quiet: quiet,
		Follow: r.export.selection(), Observe: r.observe, Progress: r.advance, Reached: r.reach,
	})
	if err != nil {
		r.export.close()
		return nil, status.Error(codes.Internal, err.Error())
	}
	r.runner.Plan(rack.Plan(scenario, 0, index)[0])
	r.position.Store(&position{})
	r.takeSnapshot(0)
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

// ports returns the links and peers at the node's ports.
func ports(s *topology.Scenario, node int) []runner.Port {
	ends := s.PortMap()[node]
	list := make([]runner.Port, len(ends))
	for i, end := range ends {
		l := s.Links[end.Link]
		list[i] = runner.Port{
			Peer: s.Nodes[end.Peer].Name, PeerPort: end.PeerPort, Rate: l.Rate, Delay: l.Delay, Overhead: l.Overhead,
		}
	}
	return list
}

// start runs the loop until ctx ends or the run is closed. A batch run is granted its
// end.
func (r *run) start(ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	if r.batch != nil {
		r.batch.before = used()
		r.runner.Grant(r.scenario.Load().Duration)
	}
	go func() {
		_, err := r.runner.Run(ctx)
		r.ended <- err
		close(r.ended)
	}()
}

// close ends the loop and unsubscribes from the links.
func (r *run) close() {
	if r.stop != nil {
		r.stop()
		for range r.ended { // until the loop has ended
		}
		if r.batch == nil {
			r.export.finish(r.reached)
		}
	}
	r.runner.Close()
	r.export.close()
	r.runs.End()
}

// observe processes notes. The loop calls it.
func (r *run) observe(notes []fabric.Note) {
	s := r.scenario.Load()
	if r.batch != nil {
		r.batch.recorder.Observe(notes)
		r.batch.excerpt.Observe(notes)
	}
	r.tally.observe(s, notes)
	r.export.observe(s, notes)
}

// advance publishes the progress of the loop, which calls it.
func (r *run) advance(next unit.Time, result *runner.Result) {
	r.export.show()
	r.takeSnapshot(next)
	r.moveTo(next, result)
	select {
	case r.progress <- struct{}{}:
	default:
	}
}

// moveTo sets the position.
func (r *run) moveTo(at unit.Time, result *runner.Result) {
	r.position.Store(&position{at, *result})
	r.runs.Reach(at)
}

// reach answers a grant whose end the loop has reached. The loop calls it, and does not
// wait for the stream.
func (r *run) reach(end unit.Time, result *runner.Result) {
	r.reached = end
	r.moveTo(end, result)
	reply := r.liveAnswer
	if r.batch != nil {
		reply = r.batchAnswer
	}
	select {
	case <-r.answers: // only a controller that does not wait leaves an answer behind
	default:
	}
	r.answers <- reply(end, result) // does not block: only the loop sends here
}
