package telemetry

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// finishLimit is how long the end of a run may wait for a slow collector.
const finishLimit = 2 * time.Second

// Sender exports the spans and points of one or several nodes in one run.
type Sender struct {
	spans  *Spans
	points *Points
	nodes  []*Node
}

// Node collects the telemetry of one node. It is not safe for concurrent use.
type Node struct {
	Traces *Traces
	Meter  *Meter
}

// NewSender returns a sender on conn, which the caller owns, with queues for the given
// number of nodes. Finish ends it.
func NewSender(conn grpc.ClientConnInterface, nodes int) *Sender {
	return &Sender{spans: NewSpans(conn, DefaultSpans*nodes), points: NewPoints(conn, DefaultQueue*nodes)}
}

// Node adds the scenario's node with the given index in a run: the messages that follow
// selects, and points as they are sampled. asked may set another epoch. Node must not
// run concurrently with Counts.
func (s *Sender) Node(run string, asked *rackfabv1.Telemetry, scenario *topology.Scenario, index int, sampling fabric.Sampling, follow *fabric.Selection) *Node {
	id := IdentityOf(run, scenario, index, sampling.Every)
	if asked.GetEpochUnixNano() != 0 {
		id.Epoch = asked.GetEpochUnixNano()
	}
	id.Sampled = tracing.Sampled(scenario, asked.GetSampleRatio(), asked.GetSampleFlows())
	source := NewSource(id)
	n := &Node{
		Traces: NewTraces(s.spans, id, scenario, index, follow),
		Meter:  NewMeter(scenario, index, sampling, func(b Batch) { s.points.Hand(source, b) }),
	}
	s.nodes = append(s.nodes, n)
	return n
}

// Observe processes notes, in the order in which they happened.
func (n *Node) Observe(notes []fabric.Note) {
	n.Meter.Observe(notes)
	n.Traces.Observe(notes)
}

// Finish ends open spans at the end of the run.
func (n *Node) Finish(end unit.Time) {
	n.Meter.Finish(end)
	n.Traces.Finish(end)
}

// Finish sends everything that is left, for two seconds at most, and drops the rest. No
// data may be added after it. A second call changes nothing. Finish is safe for
// concurrent use.
func (s *Sender) Finish() {
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { s.points.Finish(ctx) })
	both.Go(func() { s.spans.Finish(ctx) })
	both.Wait()
}

// Counts returns the counts of spans and points. It is safe for concurrent use.
func (s *Sender) Counts() *rackfabv1.TelemetryCounts {
	points, spans := s.points.Counts(), s.spans.Counts()
	out := &rackfabv1.TelemetryCounts{
		Made: spans.Made, Sent: spans.Sent, Dropped: spans.Dropped,
		PointsMade: points.Made, PointsSent: points.Sent, PointsDropped: points.Dropped,
	}
	for _, n := range s.nodes {
		out.Cut += n.Traces.Cut()
	}
	return out
}
