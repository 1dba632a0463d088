package nodeservice

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// flushLimit is how long the end of a run may wait for a collector that is there and
// slow.
const flushLimit = 2 * time.Second

// teller tells a collector what happens at the node in one run. The loop calls it; a
// nil teller tells nothing.
type teller struct {
	meter  *telemetry.Meter
	points *telemetry.Points
}

// newTeller makes the teller of the scenario's node with that index. It is nil if
// nothing is to be told, or there is nobody to tell.
func newTeller(conn grpc.ClientConnInterface, c *rackfabv1.RunConfig, s *topology.Scenario, node int, sampling fabric.Sampling) *teller {
	t := c.GetTelemetry()
	if t == nil || conn == nil {
		return nil
	}
	run := t.GetRun()
	if run == "" {
		run = c.GetRunId()
	}
	id := telemetry.IdentityOf(run, s, node, sampling.Every)
	if t.GetEpochUnixNano() != 0 {
		id.Epoch = t.GetEpochUnixNano()
	}
	source, points := telemetry.NewSource(id), telemetry.NewPoints(conn, telemetry.DefaultQueue)
	meter := telemetry.NewMeter(s, node, sampling, func(b telemetry.Batch) { points.Hand(source, b) })
	return &teller{meter, points}
}

// observe takes notes of a run of s.
func (t *teller) observe(s *topology.Scenario, notes []fabric.Note) {
	if t == nil {
		return
	}
	t.meter.Extend(s)
	t.meter.Observe(notes)
}

// reach says that every event before now has been handled.
func (t *teller) reach(now unit.Time) {
	if t == nil {
		return
	}
	t.meter.Reach(now)
	t.meter.Flush()
}

// show hands out what is there.
func (t *teller) show() {
	if t != nil {
		t.meter.Flush()
	}
}

// finish closes what is open at the end of the run.
func (t *teller) finish(end unit.Time) {
	if t != nil {
		t.meter.Finish(end)
	}
}

// flush waits until the collector has everything, flushLimit at most. Any goroutine
// may call it.
func (t *teller) flush() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	t.points.Flush(ctx)
}

// close ends the telling.
func (t *teller) close() {
	if t != nil {
		t.flush()
		t.points.Close()
	}
}

// counts says what became of everything; nil if nothing is told.
func (t *teller) counts() *rackfabv1.TelemetryCounts {
	if t == nil {
		return nil
	}
	c := t.points.Counts()
	return &rackfabv1.TelemetryCounts{PointsMade: c.Made, PointsSent: c.Sent, PointsDropped: c.Dropped}
}
