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
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/notes"
	"github.com/rackfab/rackfab/services/internal/runner"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// part is the node's part in one run. It receives on the node's links from join to
// leave.
type part struct {
	runner     *runner.Runner
	bus        *faulty.Conn // of the links only
	recorder   *measure.Recorder
	excerpt    *notes.Excerpt // the notes that the config requests
	machine    fabric.Machine
	links      int
	scenario   atomic.Pointer[topology.Scenario]
	index      int // of the node
	live       bool
	granted    unit.Time                   // end of the latest grant of a live run
	stood      unit.Time                   // fabric time that a live run has reached; owned by the loop
	arrived    chan *rackfabv1.RunResponse // holds the answer to the latest grant
	notices    map[fabric.Kind]int64
	commands   tally
	tell       *teller
	latest     atomic.Pointer[snapshot]
	runs       *health.Runs                  // of the node
	counted    atomic.Pointer[runner.Result] // the latest result
	recordings atomic.Pointer[[]*recording]
	captured   chan []*rackfabv1.RunResponse // holds the packets recorded up to a grant
	progress   chan runner.Progress          // holds the latest progress, until it is sent
	finished   chan result                   // receives one value
	before     usage                         // at the start
	cancel     context.CancelFunc            // ends the loop; nil before start
	done       chan struct{}                 // closed when the loop has ended
}

// result is the node's result at the end of a run.
type result struct {
	runner.Result
	struck   int64 // envelopes dropped, repeated or delayed by the impairment
	measured *measure.NodeResult
	end      unit.Time
	used     usage
}

// join builds the node's machine, connects it to its links and starts to receive on
// them.
func (s *Service) join(c *rackfabv1.RunConfig) (*part, error) {
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
	p := &part{
		bus:   faulty.Wrap(s.conn, faulty.Rates{}, 0),
		index: index, live: c.GetLive(), arrived: make(chan *rackfabv1.RunResponse, 1), notices: map[fabric.Kind]int64{},
		machine:  machine,
		captured: make(chan []*rackfabv1.RunResponse, 1),
		progress: make(chan runner.Progress, 1),
		finished: make(chan result, 1),
		done:     make(chan struct{}),
	}
	ports := ports(scenario, index)
	p.links = len(ports)
	if p.excerpt, err = notes.New(c.GetNoteKinds()); err != nil {
		return nil, serve.Invalid("note_kinds", "%v", err)
	}
	p.recordings.Store(&[]*recording{})
	p.scenario.Store(scenario)
	config := runner.Config{Run: c.GetRunId(), Node: s.name, Machine: machine, Ports: ports, Conn: p.bus, Quiet: c.GetQuiet() && !p.excerpt.PerFrame()}
	if p.live {
		config.Quiet, config.Observe, config.Progress, config.Reached = true, p.tally, p.pulsate, p.stands
	} else {
		p.recorder = measure.NewRecorder(scenario, index)
		config.End, config.Observe, config.Progress, config.Reached = scenario.Duration, p.observe, p.show, p.reached
	}
	if p.tell, err = newTeller(s.collector, c, scenario, index, machines.Sampling()); err != nil {
		return nil, err
	}
	config.Follow = p.tell.followed()
	p.runner, err = runner.New(config)
	if err != nil {
		p.tell.close()
		return nil, status.Error(codes.Internal, err.Error())
	}
	p.runner.Plan(rack.Plan(scenario, 0, index)[0])
	p.keep(0)
	p.runs = &s.runs
	p.runs.Begin(p.metrics)
	return p, nil
}

// find parses the scenario and finds this node in it.
func (s *Service) find(c *rackfabv1.RunConfig) (*topology.Scenario, int, error) {
	if c.GetNode() != s.name {
		return nil, 0, serve.Invalid("node", "this is node %q, not %q", s.name, c.GetNode())
	}
	if err := bus.CheckToken(c.GetRunId()); err != nil {
		return nil, 0, serve.Invalid("run_id", "%v", err)
	}
	scenario, err := topology.Parse("scenario", c.GetScenario())
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

// start runs the loop until ctx ends or the node leaves. The channel receives the
// error with which the loop ends.
func (p *part) start(ctx context.Context) <-chan error {
	ctx, p.cancel = context.WithCancel(ctx)
	p.before = used()
	ended := make(chan error, 1)
	go func() {
		defer close(p.done)
		_, err := p.runner.Run(ctx)
		ended <- err
	}()
	return ended
}

// leave ends the loop and unsubscribes from the links.
func (p *part) leave() {
	if p.cancel == nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, _ = p.runner.Run(ctx) // Run unsubscribes when it returns
		p.tell.close()
		p.runs.End()
		return
	}
	p.cancel()
	<-p.done
	if p.live {
		p.tell.finish(p.stood)
	}
	p.tell.close()
	p.runs.End()
}

// observe processes the notes of a batch run.
func (p *part) observe(notes []fabric.Note) {
	p.recorder.Observe(notes)
	p.excerpt.Observe(notes)
	p.tell.observe(p.scenario.Load(), notes)
}

// show puts the latest progress where the stream takes it. The loop does not wait
// for the stream.
func (p *part) show(latest runner.Progress) {
	p.tell.show()
	p.keep(latest.Next)
	p.pulsate(latest)
	select {
	case <-p.progress:
	default:
	}
	p.progress <- latest // does not block: only the loop sends here
}

// pulsate updates the metrics with the progress of the run.
func (p *part) pulsate(latest runner.Progress) { p.count(latest.Next, &latest.Result) }

// reached stores the result once the run's last event has been handled. The loop
// passes no notes to the recorder after that.
func (p *part) reached(end unit.Time, r runner.Result) {
	now := used()
	now.cpu -= p.before.cpu
	p.recorder.Count(p.machine)
	p.count(end, &r)
	p.tell.finish(end)
	p.keep(end)
	p.finished <- result{Result: r, struck: p.bus.Struck().Total(), measured: p.recorder.Result(), end: end, used: now}
}
