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

// teller tells a collector what happens at the node in one run. The loop calls it; a
// nil teller tells nothing.
type teller struct {
	sender *telemetry.Sender
	node   *telemetry.Node
	asked  *rackfabv1.Telemetry
	called []telemetry.Caller // who has asked for changes so far
	wanted atomic.Pointer[following]
	have   *following // the loop's
}

// following is which messages of a scenario are told.
type following struct {
	scenario  *topology.Scenario
	selection *fabric.Selection
	callers   []telemetry.Caller
}

// newTeller makes the teller of the scenario's node with that index. It is nil if
// nothing is to be told, or there is nobody to tell. The error is INVALID_ARGUMENT.
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

// follow gives the messages that are told when s takes the place of the scenario
// before. changes are what is new in it: what somebody asked for within a span is
// told whatever the ratio. It is not the loop that calls it.
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
		return nil // the patterns were sound at the start
	}
	t.wanted.Store(&following{s, selection, slices.Clone(t.called)})
	return selection
}

// followed is what is followed at the start; nil for nothing.
func (t *teller) followed() *fabric.Selection {
	if t == nil {
		return nil
	}
	return t.have.selection
}

// observe takes notes of a run of s.
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

// reach says that every event before now has been handled.
func (t *teller) reach(now unit.Time) {
	if t == nil {
		return
	}
	t.node.Meter.Reach(now)
	t.node.Meter.Flush()
	t.node.Traces.Reach(now)
}

// show hands out what is there.
func (t *teller) show() {
	if t != nil {
		t.node.Meter.Flush()
	}
}

// finish closes what is open at the end of the run.
func (t *teller) finish(end unit.Time) {
	if t != nil {
		t.node.Finish(end)
	}
}

// flush waits until the collector has everything, or gives up the rest. Nothing may
// come after it. Any goroutine may call it.
func (t *teller) flush() {
	if t != nil {
		t.sender.Flush()
	}
}

// close ends the telling.
func (t *teller) close() {
	if t != nil {
		t.sender.Close()
	}
}

// counts says what became of everything; nil if nothing is told.
func (t *teller) counts() *rackfabv1.TelemetryCounts {
	if t == nil {
		return nil
	}
	return t.sender.Counts()
}
