package cells

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/notes"
	"github.com/rackfab/rackfab/services/internal/outcome"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// client calls one worker.
type client struct {
	api   rackfabv1.WorkerServiceClient
	build string
	cores int // of each cell, 0 for one and the idle ones
}

// overhead bounds the size in bytes of a request without its scenario.
const overhead = 1 << 12

// run runs a cell on the worker.
func (w *client) run(ctx context.Context, c *Cell) (*measure.Run, error) {
	q, err := w.request(c)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	stream, err := w.api.RunCell(ctx, q)
	if err != nil {
		return nil, err
	}
	return receive(stream, c)
}

func (w *client) request(c *Cell) (*rackfabv1.RunCellRequest, error) {
	text, err := scenariofile.Marshal(c.Scenario)
	if err != nil {
		return nil, err
	}
	if len(text) > serve.MaxRequest-overhead {
		return nil, fmt.Errorf("a scenario of %d bytes is too long for a worker: want at most %d", len(text), serve.MaxRequest-overhead)
	}
	q := &rackfabv1.RunCellRequest{Scenario: text, Build: w.build, Cores: int32(w.cores), Figures: c.Figures}
	for _, k := range c.Kinds {
		q.NoteKinds = append(q.NoteKinds, k.String())
	}
	return q, nil
}

// receive returns the outcome at the end of the stream. It passes on the notes only then,
// because a cell whose worker is lost is run again.
func receive(stream grpc.ServerStreamingClient[rackfabv1.RunCellResponse], c *Cell) (*measure.Run, error) {
	var all []byte
	var heard []*rackfabv1.NodeNotes
	for {
		message, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			run, err := outcome.Read(all)
			if err != nil {
				return nil, fmt.Errorf("outcome: %w", err)
			}
			return run, tell(c, heard)
		case err != nil:
			return nil, err
		}
		switch event := message.GetEvent().(type) {
		case *rackfabv1.RunCellResponse_Progress:
			c.Show(unit.Time(event.Progress.GetFabricTimePs()), event.Progress.GetFrameHops())
		case *rackfabv1.RunCellResponse_Notes:
			heard = append(heard, event.Notes)
		case *rackfabv1.RunCellResponse_Outcome:
			all = append(all, event.Outcome...)
		}
	}
}

// tell passes notes to the cell's Hear.
func tell(c *Cell, heard []*rackfabv1.NodeNotes) error {
	if heard == nil {
		return nil
	}
	index := map[string]int{}
	for i, n := range c.Scenario.Nodes {
		index[n.Name] = i
	}
	for _, m := range heard {
		list, err := notes.Read(m)
		if err != nil {
			return err
		}
		c.Hear(index[m.GetNode()], list)
	}
	return nil
}

// reason returns why a worker is lost.
func reason(err error) string {
	s := status.Convert(err)
	if why, ok := strings.CutPrefix(s.Message(), "error reading from server: "); ok && s.Code() == codes.Unavailable {
		return "connection lost: " + why
	}
	return health.Reason(s.Message())
}
