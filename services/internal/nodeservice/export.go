package nodeservice

import (
	"cmp"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// exporter exports the telemetry of the nodes in one run to a collector. The loop calls
// it, except where noted. A nil exporter exports nothing.
type exporter struct {
	sender  *telemetry.Sender
	nodes   []*telemetry.Node
	config  *rackfabv1.Telemetry
	callers []telemetry.Caller // the spans that requested changes so far; owned by extend
	next    atomic.Pointer[sample]
	current *sample
}

// sample is the selection of sampled messages of a scenario.
type sample struct {
	scenario  *topology.Scenario
	selection *fabric.Selection
	callers   []telemetry.Caller
}

// newExporter returns the exporter of nodes of the scenario. It is nil if the run requests no telemetry or there is no collector. The error is
// INVALID_ARGUMENT.
func newExporter(conn grpc.ClientConnInterface, c *rackfabv1.RunConfig, s *topology.Scenario, nodes []*hosted, sampling fabric.Sampling) (*exporter, error) {
	t := c.GetTelemetry()
	if t == nil || conn == nil {
		return nil, nil
	}
	selection, err := tracing.Follow(s, t.GetSampleRatio(), t.GetSampleFlows(), nil)
	if err != nil {
		return nil, serve.Invalid("telemetry.sample_flows", "%v", err)
	}
	sender := telemetry.NewSender(conn, len(nodes))
	e := &exporter{sender: sender, config: t, current: &sample{scenario: s, selection: selection}}
	for _, n := range nodes {
		e.nodes = append(e.nodes, sender.Node(cmp.Or(t.GetRun(), c.GetRunId()), t, s, n.index, sampling, selection))
	}
	e.next.Store(e.current)
	return e, nil
}

// selection returns the messages that are sampled from the start of the run, nil for
// none.
func (e *exporter) selection() *fabric.Selection {
	if e == nil {
		return nil
	}
	return e.current.selection
}

// extend returns the sampled messages once s replaces the previous scenario. changes
// are the last changes of s. Messages of a change that was requested within a span
// are sampled whatever the ratio. The stream's goroutine calls extend, not the loop.
func (e *exporter) extend(s *topology.Scenario, changes []*rackfabv1.TimedChange) *fabric.Selection {
	if e == nil {
		return nil
	}
	for i, c := range changes {
		change := &s.Changes[len(s.Changes)-len(changes)+i]
		if caller, ok := telemetry.CallerOf(s, change, c.GetTraceparent()); ok {
			e.callers = append(e.callers, caller)
			e.callers = e.callers[max(len(e.callers)-telemetry.MostCallers, 0):]
		}
	}
	var messages []fabric.Message
	for _, c := range e.callers {
		messages = append(messages, c.Messages...)
	}
	selection, err := tracing.Follow(s, e.config.GetSampleRatio(), e.config.GetSampleFlows(), messages)
	if err != nil {
		return nil // the patterns were valid at the start
	}
	e.next.Store(&sample{s, selection, slices.Clone(e.callers)})
	return selection
}

// observe processes the notes of a node in a run of s.
func (e *exporter) observe(node int, s *topology.Scenario, notes []fabric.Note) {
	if e == nil {
		return
	}
	if next := e.next.Load(); next != e.current {
		e.current = next
		for _, n := range e.nodes {
			n.Traces.Extend(next.scenario, next.selection, next.callers)
		}
	}
	e.nodes[node].Meter.Extend(s)
	e.nodes[node].Observe(notes)
}

// reach exports up to now, before which every event has been handled.
func (e *exporter) reach(now unit.Time) {
	if e == nil {
		return
	}
	for _, n := range e.nodes {
		n.Meter.Reach(now)
		n.Meter.Flush()
		n.Traces.Advance(now)
	}
}

// show exports the points collected so far.
func (e *exporter) show() {
	if e == nil {
		return
	}
	for _, n := range e.nodes {
		n.Meter.Flush()
	}
}

// finish ends open series and spans at the end of the run.
func (e *exporter) finish(end unit.Time) {
	if e == nil {
		return
	}
	for _, n := range e.nodes {
		n.Finish(end)
	}
}

// close waits until the collector has received everything, or drops the rest. It
// must be the last export of the run. Any goroutine may call it, more than once.
func (e *exporter) close() {
	if e != nil {
		e.sender.Finish()
	}
}

// counts returns how much was exported and dropped; nil for a nil exporter.
func (e *exporter) counts() *rackfabv1.TelemetryCounts {
	if e == nil {
		return nil
	}
	return e.sender.Counts()
}
