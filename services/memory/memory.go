// Package memory tells a collector of a rack that runs in one process: for each
// node what the node's own process would tell. It drives nothing.
package memory

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// flushLimit is how long the end of a run may wait for a collector that is there and
// slow.
const flushLimit = 2 * time.Second

// Teller tells of one run; a nil one tells nothing.
type Teller struct {
	conn   *grpc.ClientConn
	spans  *telemetry.Spans
	points *telemetry.Points
	nodes  []node
}

// node is what tells of one node.
type node struct {
	traces *telemetry.Traces
	meter  *telemetry.Meter
}

// Attach has the collector at address told, by who, nil for plain TCP, of a run that
// has not begun: it takes l.Listen and l.Follow. Close ends it. The error is about
// the address or what is asked for.
func Attach(l *lab.Lab, address string, who *identity.TLS, asked *rackfabv1.Telemetry) (*Teller, error) {
	s := l.Scenario()
	follow, err := tracing.Follow(s, asked.GetSampleRatio(), asked.GetSampleFlows(), nil)
	if err != nil {
		return nil, fmt.Errorf("flows to sample: %w", err)
	}
	conn, err := telemetry.Dial(address, who)
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	t := &Teller{
		conn: conn, spans: telemetry.NewSpans(conn, telemetry.DefaultSpans*len(s.Nodes)),
		points: telemetry.NewPoints(conn, telemetry.DefaultQueue*len(s.Nodes)),
	}
	sampling := fabric.Sampling{Every: s.Bin, End: s.Duration}
	for i := range s.Nodes {
		id := telemetry.IdentityOf(asked.GetRun(), s, i, s.Bin)
		if asked.GetEpochUnixNano() != 0 {
			id.Epoch = asked.GetEpochUnixNano()
		}
		source := telemetry.NewSource(id)
		t.nodes = append(t.nodes, node{
			telemetry.NewTraces(t.spans, id, s, i, follow),
			telemetry.NewMeter(s, i, sampling, func(b telemetry.Batch) { t.points.Hand(source, b) }),
		})
	}
	l.Follow = follow
	l.Listen = func(node int, notes []fabric.Note) {
		t.nodes[node].traces.Observe(notes)
		t.nodes[node].meter.Observe(notes)
	}
	return t, nil
}

// Finish ends everything at the end of the run and hands it to the collector, two
// seconds at most; what it has not taken then is dropped.
func (t *Teller) Finish(end unit.Time) {
	if t == nil {
		return
	}
	for _, n := range t.nodes {
		n.traces.Finish(end)
		n.meter.Finish(end)
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	t.points.Flush(ctx)
	t.spans.Finish(ctx)
}

// Counts says what became of everything.
func (t *Teller) Counts() *rackfabv1.TelemetryCounts {
	if t == nil {
		return nil
	}
	p, s := t.points.Counts(), t.spans.Counts()
	out := &rackfabv1.TelemetryCounts{
		Made: s.Made, Sent: s.Sent, Dropped: s.Dropped,
		PointsMade: p.Made, PointsSent: p.Sent, PointsDropped: p.Dropped,
	}
	for _, n := range t.nodes {
		out.Cut += n.traces.Cut()
	}
	return out
}

// Close ends the telling.
func (t *Teller) Close() {
	if t == nil {
		return
	}
	t.spans.Close()
	t.points.Close()
	_ = t.conn.Close() // nothing is left to be said
}
