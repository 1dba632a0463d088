package engine

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/launch"
)

// rackEngine runs scenarios with one process per node or group of nodes.
type rackEngine struct {
	rack      player
	name      string // prefix of the run names on the bus; may be empty
	telemetry telemetry.Flags
	cores     int // of this machine that run the processes, 0 if they run elsewhere
	workers   int // that run the processes, 0 for none
	runs      int
	end       func()
}

// player runs a request on a rack.
type player interface {
	Run(context.Context, *controller.Request, func(*controller.Progress)) (*controller.Report, error)
}

// newProcesses starts the processes of the rack of s. They use the bus that the flags
// name, or otherwise a bus of their own.
func newProcesses(ctx context.Context, s *topology.Scenario, f Flags) (Engine, error) {
	access, err := f.NATS.Access()
	if err != nil {
		return nil, err
	}
	processes, err := f.Processes.Of(s)
	if err != nil {
		return nil, err
	}
	if err := f.Workers.Check(s, f.NATS); err != nil {
		return nil, err
	}
	o := launch.Options{Recover: time.Duration(f.Recover), Bus: f.NATS.URL, Access: access, TLS: f.TLS, Collector: f.Telemetry.Receiver(), Collect: f.Telemetry.Collect(telemetry.Off)}
	cores := min(processes, runtime.GOMAXPROCS(0))
	if f.Workers != 0 {
		o.Workers, cores = &launch.Workers{Scenario: s, Count: int(f.Workers), Joined: f.Workers.Joined(os.Stderr)}, 0
	} else {
		o.Groups = launch.Groups(s, processes)
	}
	rack, err := launch.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return &rackEngine{rack: rack, end: rack.Close, telemetry: f.Telemetry, cores: cores, workers: int(f.Workers)}, nil
}

// Run passes notes to w.Hear at the end of the run, node by node in the order of
// the scenario.
func (p *rackEngine) Run(ctx context.Context, s *topology.Scenario, show func(Advance), w Want) (*measure.Run, error) {
	text, err := scenariofile.Marshal(s)
	if err != nil {
		return nil, err
	}
	p.runs++
	request := &controller.Request{
		RunId: fmt.Sprintf("%s%s-%d", p.name, s.Scheme, p.runs), Scenario: text, Quiet: true, Telemetry: p.telemetry.ForRun(s.Name, s.Scheme),
	}
	for _, kind := range w.Kinds {
		request.NoteKinds = append(request.NoteKinds, kind.String())
	}
	report, err := p.rack.Run(ctx, request, func(at *controller.Progress) {
		show(Advance{Time: unit.Time(at.GetFabricTimePs()), FrameHops: at.GetFrameHops()})
	})
	if err != nil {
		return nil, err
	}
	outcome, err := measure.Merge(s, report.Results())
	if err != nil {
		return nil, err
	}
	outcome.Processes, outcome.Groups, outcome.Recoveries = report.Processes, report.Processes, report.Recoveries
	if outcome.Workers, outcome.Cores = p.workers, p.cores; p.workers > 0 {
		outcome.Cores = report.Processes
	}
	for i, n := range report.Nodes {
		outcome.Nodes[i].MaxRSS, outcome.Nodes[i].Program = n.GetMaxRssBytes(), n.GetProgramBytes()
		p.telemetry.Totals.Add(n.GetTelemetry())
		if w.Hear != nil {
			w.Hear(i, n.Notes)
		}
	}
	return outcome, nil
}

// Lanes returns 1: there is only one rack.
func (p *rackEngine) Lanes() int { return 1 }

// Workers returns 0: a run has the whole rack.
func (p *rackEngine) Workers() int { return 0 }

func (p *rackEngine) Close() { p.end() }

// answerLimit bounds a health check. For a controller, it includes the time to start.
const answerLimit = 10 * time.Second

// remote is a running rack, reached through its controller.
type remote struct {
	*controller.Client
	address string
}

// newRemote returns an engine for the rack whose controller the flags name.
func newRemote(ctx context.Context, f Flags) (Engine, error) {
	address := f.Controller
	if err := client.CheckAddress("controller", address); err != nil {
		return nil, err
	}
	who, err := client.LoadTLS(f.TLS, identity.Client)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if err := health.Await(limit, address, who, identity.Controller); err != nil {
		return nil, fmt.Errorf("--controller: not reachable: %w", err)
	}
	there, err := controller.DialAs(address, who)
	if err != nil {
		return nil, fmt.Errorf("--controller %s: %w", address, err)
	}
	// The error of Close is irrelevant: all calls are over.
	end := func() { _ = there.Close() }
	return &rackEngine{rack: remote{there, address}, name: clientName(), end: end, telemetry: f.Telemetry}, nil
}

// clientName returns a prefix that makes the run names of this process unique.
func clientName() string {
	return fmt.Sprintf("%s-%d-", strconv.FormatInt(time.Now().UnixNano(), 36), os.Getpid())
}

// Run calls the controller and rewords its errors for users.
func (r remote) Run(ctx context.Context, q *controller.Request, progress func(*controller.Progress)) (*controller.Report, error) {
	report, err := r.Client.Run(ctx, q, progress)
	if err == nil {
		return report, nil
	}
	s := status.Convert(err)
	if s.Code() == codes.Unimplemented {
		return nil, fmt.Errorf("%s is not a controller: %s", r.address, s.Message())
	}
	return nil, fmt.Errorf("controller at %s: %s", r.address, s.Message())
}
