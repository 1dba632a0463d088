package worker

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/cores"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/notes"
	"github.com/rackfab/rackfab/services/internal/outcome"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// progressEvery is the minimum time between two reports of the progress of a cell.
const progressEvery = 200 * time.Millisecond

// busyPause is the time after which a client should ask a worker again whose cores others use.
const busyPause = time.Second

// cell is a run in the memory of this process.
type cell struct {
	*lab.Lab
	cores    int // 0 for as many as make it faster
	figures  bool
	excerpts []*notes.Excerpt // by node
	stream   grpc.ServerStreamingServer[rackfabv1.RunCellResponse]
}

// RunCell runs a scenario in memory; see WorkerService.
func (w *free) RunCell(q *rackfabv1.RunCellRequest, stream rackfabv1.WorkerService_RunCellServer) error {
	if q.GetBuild() != w.o.Build {
		return status.Errorf(codes.FailedPrecondition, "worker %s is of build %s, its client of build %s: both must be of the same", w.o.Name, w.o.Build, q.GetBuild())
	}
	most, n := int64(w.o.Cores), max(1, int64(q.GetCores()))
	switch {
	case q.GetCores() < 0 || n > most:
		return serve.Invalid("cores", "%d, want 0 to %d, the cores of worker %s", q.GetCores(), most, w.o.Name)
	case !w.cores.TryAcquire(n):
		return serve.Busy(busyPause, "worker %s has %d cores, of which fewer than %d are free", w.o.Name, most, n)
	}
	defer w.cores.Release(n)
	c, err := newCell(q, stream)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(stream.Context())
	defer end()
	defer context.AfterFunc(w.ctx, end)()
	err = c.run(ctx, w.pool)
	if w.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return status.Errorf(codes.Unavailable, "worker %s has been stopped", w.o.Name)
	}
	return err
}

// newCell builds the rack of a request.
func newCell(q *rackfabv1.RunCellRequest, stream grpc.ServerStreamingServer[rackfabv1.RunCellResponse]) (*cell, error) {
	s, err := scenariofile.Parse("scenario", q.GetScenario())
	if err != nil {
		return nil, serve.InvalidScenario(err)
	}
	c := &cell{cores: int(q.GetCores()), figures: q.GetFigures(), stream: stream}
	if c.Lab, err = lab.New(s); err != nil {
		return nil, serve.Invalid("scenario", "%v", err)
	}
	if len(q.GetNoteKinds()) == 0 {
		return c, nil
	}
	for range s.Nodes {
		e, err := notes.New(q.GetNoteKinds())
		if err != nil {
			return nil, serve.Invalid("note_kinds", "%v", err)
		}
		c.excerpts = append(c.excerpts, e)
	}
	c.PerFrame = c.excerpts[0].PerFrame()
	c.Listen = func(node int, all []fabric.Note) { c.excerpts[node].Observe(all) }
	return c, nil
}

// run runs the cell and sends its progress, notes and outcome.
func (c *cell) run(ctx context.Context, pool *cores.Pool) error {
	last := time.Now()
	run, err := cores.Measure(ctx, c.Lab, pool, c.cores, func(now unit.Time) {
		if time.Since(last) >= progressEvery {
			last = time.Now()
			at := &rackfabv1.FabricProgress{FabricTimePs: int64(now), FrameHops: c.FrameHops()}
			_ = c.stream.Send(&rackfabv1.RunCellResponse{Event: &rackfabv1.RunCellResponse_Progress{Progress: at}}) // if it fails, ctx ends
		}
	})
	if err != nil {
		return err
	}
	for i, e := range c.excerpts {
		list, err := e.Messages(c.Scenario().Nodes[i].Name)
		if err != nil {
			return serve.Invalid("note_kinds", "%v", err)
		}
		for _, m := range list {
			if err := c.stream.Send(&rackfabv1.RunCellResponse{Event: &rackfabv1.RunCellResponse_Notes{Notes: m}}); err != nil {
				return err
			}
		}
	}
	return c.send(run)
}

// send sends the outcome.
func (c *cell) send(run *measure.Run) error {
	if c.figures {
		run.Series, run.Nodes = nil, nil
	}
	parts, err := outcome.Write(run)
	for i := 0; i < len(parts) && err == nil; i++ {
		err = c.stream.Send(&rackfabv1.RunCellResponse{Event: &rackfabv1.RunCellResponse_Outcome{Outcome: parts[i]}})
	}
	return err
}
