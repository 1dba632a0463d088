package engine

import (
	"context"
	"fmt"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/launch"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/telemetry"
)

// rackEngine runs scenarios with one process per node.
type rackEngine struct {
	rack      player
	name      string // prefix of the run names on the bus; may be empty
	telemetry telemetry.Flags
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
	rack, err := launch.Start(ctx, launch.Options{Nodes: s.Nodes, Bus: f.NATS.URL, Access: access, TLS: f.TLS, Collector: f.Telemetry.Receiver(), Collect: f.Telemetry.Collect(telemetry.Off)})
	if err != nil {
		return nil, err
	}
	return &rackEngine{rack: rack, end: rack.Close, telemetry: f.Telemetry}, nil
}

// run passes notes to the listener at the end of the run, node by node in the order of
// the scenario.
func (p *rackEngine) Run(ctx context.Context, s *topology.Scenario, show func(Advance), l *Listener) (*measure.Run, error) {
	text, err := scenariofile.Marshal(s)
	if err != nil {
		return nil, err
	}
	p.runs++
	request := &controller.Request{
		RunId: fmt.Sprintf("%s%s-%d", p.name, s.Scheme, p.runs), Scenario: text, Quiet: true, Telemetry: p.telemetry.ForRun(s.Name, s.Scheme),
	}
	if l != nil {
		for _, kind := range l.Kinds {
			request.NoteKinds = append(request.NoteKinds, kind.String())
		}
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
	for i, n := range report.Nodes {
		outcome.Nodes[i].MaxRSS, outcome.Nodes[i].Program = n.GetMaxRssBytes(), n.GetProgramBytes()
		p.telemetry.Totals.Add(n.GetTelemetry())
		if l != nil {
			l.Hear(i, n.Notes)
		}
	}
	return outcome, nil
}

// Lanes returns 1: there is only one rack.
func (p *rackEngine) Lanes() int { return 1 }

func (p *rackEngine) Close() { p.end() }
