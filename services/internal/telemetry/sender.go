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

// flushLimit is how long the end of a run may wait for a collector that is there and
// slow.
const flushLimit = 2 * time.Second

// Sender tells a collector of one run of one or several nodes, in spans and points.
type Sender struct {
	spans   *Spans
	points  *Points
	nodes   []*Node
	flushed sync.Once
}

// Node is what is told of a node. One goroutine uses it.
type Node struct {
	Traces *Traces
	Meter  *Meter
}

// NewSender makes a sender, with room for what so many nodes have to tell, on a
// connection that the caller owns. Close ends it.
func NewSender(conn grpc.ClientConnInterface, nodes int) *Sender {
	return &Sender{spans: NewSpans(conn, DefaultSpans*nodes), points: NewPoints(conn, DefaultQueue*nodes)}
}

// Node tells of the scenario's node with that index in a run: the messages that follow
// picks, and points as they are sampled. asked may set another epoch. No call of Counts
// may go on meanwhile.
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

// Observe takes notes in the order in which they happened.
func (n *Node) Observe(notes []fabric.Note) {
	n.Meter.Observe(notes)
	n.Traces.Observe(notes)
}

// Finish closes what is open at the end of the run.
func (n *Node) Finish(end unit.Time) {
	n.Meter.Finish(end)
	n.Traces.Finish(end)
}

// Flush waits until the collector has everything, two seconds at most, and gives up
// the rest. Nothing may come after it: to call it again waits no longer. Any goroutine
// may call it.
func (s *Sender) Flush() {
	s.flushed.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
		defer cancel()
		var both sync.WaitGroup
		both.Go(func() { s.points.Flush(ctx) })
		both.Go(func() { s.spans.Finish(ctx) })
		both.Wait()
	})
}

// Close is Flush, and the end of the sending.
func (s *Sender) Close() {
	s.Flush()
	s.points.Close()
}

// Counts says what became of everything. Any goroutine may call it.
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
