package nodeservice

import (
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

// teller exports the telemetry of the node in one run to a collector. The loop calls
// it. A nil teller exports nothing.
type teller struct {
	sender *telemetry.Sender
	node   *telemetry.Node
	asked  *rackfabv1.Telemetry
	called []telemetry.Caller // the spans that requested changes so far
	wanted atomic.Pointer[following]
	have   *following // owned by the loop
}

// following is the selection of sampled messages of a scenario.
type following struct {
	scenario  *topology.Scenario
	selection *fabric.Selection
	callers   []telemetry.Caller
}

// newTeller returns the teller of the scenario's node with the given index. It is nil
// if the run requests no telemetry or there is no collector. The error is
// INVALID_ARGUMENT.
func newTeller(conn grpc.ClientConnInterface, c *rackfabv1.RunConfig, s *topology.Scenario, node int, sampling fabric.Sampling) (*teller, error) {
	t := c.GetTelemetry()
	if t == nil || conn == nil {
		return nil, nil
	}
	selection, err := tracing.Follow(s, t.GetSampleRatio(), t.GetSampleFlows(), nil)
	if err != nil {
		return nil, serve.Invalid("telemetry.sample_flows", "%v", err)
	}
	run := t.GetRun()
	if run == "" {
		run = c.GetRunId()
	}
	out := &teller{sender: telemetry.NewSender(conn, 1), asked: t}
	out.node = out.sender.Node(run, t, s, node, sampling, selection)
	out.have = &following{scenario: s, selection: selection}
	out.wanted.Store(out.have)
	return out, nil
}

// follow returns the sampled messages once s replaces the previous scenario. changes
// are the last changes of s. Messages of a change that was requested within a span
// are sampled whatever the ratio. The stream's goroutine calls follow, not the loop.
func (t *teller) follow(s *topology.Scenario, changes []*rackfabv1.TimedChange) *fabric.Selection {
	if t == nil {
		return nil
	}
	for i, c := range changes {
		change := &s.Changes[len(s.Changes)-len(changes)+i]
		if caller, ok := telemetry.CallerOf(s, change, c.GetTraceparent()); ok {
			t.called = append(t.called, caller)
		}
	}
	var messages []fabric.Message
	for _, c := range t.called {
		messages = append(messages, c.Messages...)
	}
	selection, err := tracing.Follow(s, t.asked.GetSampleRatio(), t.asked.GetSampleFlows(), messages)
	if err != nil {
		return nil // the patterns were valid at the start
	}
	t.wanted.Store(&following{s, selection, slices.Clone(t.called)})
	return selection
}

// followed returns the selection at the start of the run, nil for none.
func (t *teller) followed() *fabric.Selection {
	if t == nil {
		return nil
	}
	return t.have.selection
}

// observe processes the notes of a run of s.
func (t *teller) observe(s *topology.Scenario, notes []fabric.Note) {
	if t == nil {
		return
	}
	t.node.Meter.Extend(s)
	if w := t.wanted.Load(); w != t.have {
		t.have = w
		t.node.Traces.Extend(w.scenario, w.selection, w.callers)
	}
	t.node.Observe(notes)
}

// reach exports up to now, before which every event has been handled.
func (t *teller) reach(now unit.Time) {
	if t == nil {
		return
	}
	t.node.Meter.Reach(now)
	t.node.Meter.Flush()
	t.node.Traces.Reach(now)
}

// show exports the points collected so far.
func (t *teller) show() {
	if t != nil {
		t.node.Meter.Flush()
	}
}

// finish ends open series and spans at the end of the run.
func (t *teller) finish(end unit.Time) {
	if t != nil {
		t.node.Finish(end)
	}
}

// flush waits until the collector has received everything, or drops the rest. It
// must be the last export of the run. Any goroutine may call it.
func (t *teller) flush() {
	if t != nil {
		t.sender.Flush()
	}
}

// close ends the export.
func (t *teller) close() {
	if t != nil {
		t.sender.Close()
	}
}

// counts returns how much was exported and dropped; nil for a nil teller.
func (t *teller) counts() *rackfabv1.TelemetryCounts {
	if t == nil {
		return nil
	}
	return t.sender.Counts()
}
