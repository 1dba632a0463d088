package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/notes"
	"github.com/rackfab/rackfab/services/internal/outcome"
)

// scenario returns pcn-16to2 under pcn with a duration, and its text.
func scenario(t *testing.T, duration unit.Time) (*topology.Scenario, []byte) {
	t.Helper()
	file, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.Parse("pcn-16to2", file)
	if err != nil {
		t.Fatal(err)
	}
	s.Scheme, s.Duration = "pcn", duration
	text, err := scenariofile.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, text
}

// received is what a cell returns.
type received struct {
	run      *measure.Run
	notes    map[string][]fabric.Note // by node
	progress int
}

// runCell runs a cell to its end.
func runCell(t *testing.T, client rackfabv1.WorkerServiceClient, q *rackfabv1.RunCellRequest) (got received, err error) {
	t.Helper()
	stream, err := client.RunCell(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	got.notes = map[string][]fabric.Note{}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			got.run, err = outcome.Read(all.Bytes())
			return got, err
		case err != nil:
			return got, err
		}
		all.Write(m.GetOutcome())
		if m.GetProgress() != nil {
			got.progress++
		}
		if n := m.GetNotes(); n != nil {
			list, err := notes.Read(n)
			if err != nil {
				t.Fatal(err)
			}
			got.notes[n.GetNode()] = append(got.notes[n.GetNode()], list...)
		}
	}
}

// longCell starts a cell that takes a minute, and waits for its first progress.
func longCell(t *testing.T, ctx context.Context, client rackfabv1.WorkerServiceClient) rackfabv1.WorkerService_RunCellClient {
	t.Helper()
	_, text := scenario(t, 5*unit.Second)
	stream, err := client.RunCell(ctx, &rackfabv1.RunCellRequest{Scenario: text, Cores: 1})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetProgress().GetFabricTimePs() == 0 {
		t.Fatalf("%v, %v", m, err)
	}
	return stream
}

// A cell has the outcome and the notes of a run in this process.
func TestCellMatchesTheLab(t *testing.T) {
	url, _ := newBus(t)
	client, _ := startFree(t, url)
	s, text := scenario(t, 2*unit.Millisecond)
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	heard := map[string][]fabric.Note{}
	l.Hear([]fabric.Kind{fabric.RateChanged}, func(node int, list []fabric.Note) {
		name := s.Nodes[node].Name
		heard[name] = slices.Concat(heard[name], list)
	})
	l.Run(s.Duration)
	want, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	for _, figures := range []bool{false, true} {
		got, err := runCell(t, client, &rackfabv1.RunCellRequest{Scenario: text, Figures: figures, NoteKinds: []string{fabric.RateChanged.String()}})
		if err != nil {
			t.Fatal(err)
		}
		if got.run.Digest != want.Digest || got.run.FrameHops != want.FrameHops || got.run.Cores < 1 {
			t.Errorf("%s and %d frame-hops on %d cores, want %s and %d", got.run.Digest, got.run.FrameHops, got.run.Cores, want.Digest, want.FrameHops)
		}
		if figures != (got.run.Series == nil) || figures != (got.run.Nodes == nil) {
			t.Errorf("figures only: %v, but series %v", figures, got.run.Series != nil)
		}
		for name, list := range heard {
			if diff := cmp.Diff(len(list), len(got.notes[name])); diff != "" || !slices.Equal(list, got.notes[name]) {
				t.Errorf("notes of %s differ: %s", name, diff)
			}
		}
	}
}

// A worker runs as many cells as it has cores, and is not lent meanwhile. It refuses more,
// and the cores are free when the cells have been cancelled.
func TestCellsHaveACoreEach(t *testing.T) {
	url, _ := newBus(t)
	client, _ := startFree(t, url) // with three cores
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var streams []rackfabv1.WorkerService_RunCellClient
	for range 3 {
		streams = append(streams, longCell(t, ctx, client))
	}
	_, text := scenario(t, unit.Millisecond)
	if _, err := runCell(t, client, &rackfabv1.RunCellRequest{Scenario: text}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("fourth cell: %v", err)
	}
	other, err := client.Host(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("Host during cells: %v", err)
	}
	cancel()
	for _, s := range streams {
		for err = nil; err == nil; {
			_, err = s.Recv()
		}
		if status.Code(err) != codes.Canceled {
			t.Error(err)
		}
	}
	for { // the handlers end a step later than their clients
		_, err := runCell(t, client, &rackfabv1.RunCellRequest{Scenario: text, Cores: 3})
		if err == nil {
			break
		}
		if status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
	}
	lend(t, client)
	if _, err := runCell(t, client, &rackfabv1.RunCellRequest{Scenario: text}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a cell of a lent worker: %v", err)
	}
}

// A worker that is stopped says so to the clients of its cells.
func TestStoppedWorkerEndsItsCells(t *testing.T) {
	url, _ := newBus(t)
	client, stop := startFree(t, url)
	stream := longCell(t, t.Context(), client)
	if err := stop(); err != nil {
		t.Error(err)
	}
	for {
		if _, err := stream.Recv(); err != nil {
			if status.Code(err) != codes.Unavailable {
				t.Errorf("got %v", err)
			}
			return
		}
	}
}

func TestInvalidCellsAreRefused(t *testing.T) {
	url, _ := newBus(t)
	client, _ := startFree(t, url)
	_, text := scenario(t, unit.Millisecond)
	for _, tt := range []struct {
		q    *rackfabv1.RunCellRequest
		code codes.Code
		want string
	}{
		{&rackfabv1.RunCellRequest{Scenario: text, Build: "b2"}, codes.FailedPrecondition, "its client of build b2"},
		{&rackfabv1.RunCellRequest{Scenario: []byte("name: x\nduration: 0s")}, codes.InvalidArgument, "duration"},
		{&rackfabv1.RunCellRequest{Scenario: text, Cores: 4}, codes.InvalidArgument, "cores: 4, want 0 to 3"},
		{&rackfabv1.RunCellRequest{Scenario: text, Cores: -1}, codes.InvalidArgument, "cores: -1"},
		{&rackfabv1.RunCellRequest{Scenario: text, NoteKinds: []string{"rumour"}}, codes.InvalidArgument, "note_kinds"},
	} {
		if _, err := runCell(t, client, tt.q); status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s: %s", err, tt.code, tt.want)
		}
	}
}
