package nodeservice

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// pair is two hosts behind one switch, with one flow.
const pair = `
name: pair
seed: 1
duration: 100us
scheme: pfc
nics: {h0..h1: }
switches: {s0: }
links: [{endpoints: [h0..h1, s0], rate: 40Gbps, delay: 5us}]
flows: [{name: F0, from: h0, to: h1, size: 16KB}]
`

// node is a node served on loopback, and a client of it.
type node struct {
	service *Service
	client  rackfabv1.NodeServiceClient
	kill    context.CancelFunc // ends the process
}

func start(t *testing.T, name string, kind topology.NodeKind, conn bus.Conn) *node {
	t.Helper()
	server, err := serve.ListenAs("", nil, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := New(ctx, name, []topology.Node{{Name: name, Kind: kind}}, conn)
	s.patience = 300 * time.Millisecond
	rackfabv1.RegisterNodeServiceServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	cc, err := serve.DialAs(server.Address(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cc.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &node{s, rackfabv1.NewNodeServiceClient(cc), cancel}
}

// open opens a run and sends the steps.
func (n *node) open(t *testing.T, steps ...*rackfabv1.RunRequest) rackfabv1.NodeService_RunClient {
	t.Helper()
	stream, err := n.client.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if err := stream.Send(s); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	return stream
}

// recv receives or fails.
func recv(t *testing.T, stream rackfabv1.NodeService_RunClient) *rackfabv1.RunResponse {
	t.Helper()
	m, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// end reads to the end of the stream and returns its error.
func end(stream rackfabv1.NodeService_RunClient) error {
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
}

func config(name, run, scenario string) *rackfabv1.RunRequest {
	return &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Config{Config: &rackfabv1.RunConfig{
		RunId: run, Node: name, Scenario: []byte(scenario), Quiet: true,
	}}}
}

// noting returns a config that requests the notes of a kind.
func noting(q *rackfabv1.RunRequest, kind string) *rackfabv1.RunRequest {
	q.GetConfig().NoteKinds = []string{kind}
	return q
}

func goAhead() *rackfabv1.RunRequest {
	return &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Start{Start: &rackfabv1.RunStart{}}}
}

func stop() *rackfabv1.RunRequest {
	return &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Stop{Stop: &rackfabv1.RunStop{}}}
}

// A node answers a config that does not match it with INVALID_ARGUMENT and the invalid
// field.
func TestRejectsInvalidConfig(t *testing.T) {
	h0 := start(t, "h0", topology.NIC, bus.NewMemory().Dial())
	s0 := start(t, "s0", topology.NIC, bus.NewMemory().Dial())
	h9 := start(t, "h9", topology.NIC, bus.NewMemory().Dial())
	for _, test := range []struct {
		name   string
		node   *node
		config *rackfabv1.RunRequest
		field  string
		text   string
	}{
		{"other node", h0, config("h1", "r", pair), "config.node", `this is node "h0", not "h1"`},
		{"unknown node", h9, config("h9", "r", pair), "config.node", `the scenario has no node "h9"`},
		{"wrong kind", s0, config("s0", "r", pair), "config.node", `"s0" is a nic here, and a switch in the scenario`},
		{"run id", h0, config("h0", "a.b", pair), "config.run_id", "want no dot"},
		{"no scenario", h0, config("h0", "r", ""), "config.scenario", "the file is empty"},
		{"unknown kind of note", h0, noting(config("h0", "r", pair), "lots"), "config.note_kinds", `unknown kind of note "lots"`},
		{"bad scenario", h0, config("h0", "r", strings.Replace(pair, "16KB", "lots", 1)), "config.scenario.flows[0].size", "lots"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := end(test.node.open(t, test.config))
			if status.Code(err) != codes.InvalidArgument {
				t.Fatalf("got %v", err)
			}
			if why := serve.Violations(err)[test.field]; !strings.Contains(why, test.text) {
				t.Fatalf("field %s: %q, want %q; all: %v", test.field, why, test.text, serve.Violations(err))
			}
		})
	}
}

// The steps must follow the order config, start, stop.
func TestRejectsStepsOutOfOrder(t *testing.T) {
	h0 := start(t, "h0", topology.NIC, bus.NewMemory().Dial())
	c := config("h0", "r", pair)
	for name, steps := range map[string][]*rackfabv1.RunRequest{
		"start first": {goAhead()}, "config twice": {c, c}, "start twice": {c, goAhead(), goAhead()},
	} {
		if err := end(h0.open(t, steps...)); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A node takes part in one run at a time, and accepts the next after leaving a run.
func TestOneRunAtATime(t *testing.T) {
	h0 := start(t, "h0", topology.NIC, bus.NewMemory().Dial())
	first := h0.open(t, config("h0", "a", pair))
	recv(t, first)
	if err := end(h0.open(t, config("h0", "b", pair))); status.Code(err) != codes.FailedPrecondition {
		t.Fatalf("a second run: got %v", err)
	}
	if err := first.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := end(first); status.Code(err) != codes.Canceled {
		t.Fatalf("left before start: got %v", err)
	}
	if r := recv(t, h0.open(t, config("h0", "b", pair))); r.GetReady().GetLinks() != 1 {
		t.Fatalf("want ready with one link, got %v", r)
	}
}

// A node that is stopped during a run ends the run's call, so that its controller
// learns of it.
func TestStoppedNodeEndsItsRun(t *testing.T) {
	for name, steps := range map[string][]*rackfabv1.RunRequest{
		"before start": {config("h0", "r", pair)},
		"after start":  {config("h0", "r", pair), goAhead()}, // waits for s0, which is not there
	} {
		t.Run(name, func(t *testing.T) {
			h0 := start(t, "h0", topology.NIC, bus.NewMemory().Dial())
			stream := h0.open(t, steps...)
			recv(t, stream)
			h0.kill()
			if err := end(stream); err == nil || errors.Is(err, io.EOF) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// Three nodes finish a run, and continue to serve and to send heartbeats until stop.
func TestRun(t *testing.T) {
	m := bus.NewMemory()
	var streams []rackfabv1.NodeService_RunClient
	for name, kind := range map[string]topology.NodeKind{"h0": topology.NIC, "h1": topology.NIC, "s0": topology.Switch} {
		stream := start(t, name, kind, m.Dial()).open(t, config(name, "r", pair))
		if recv(t, stream).GetReady() == nil {
			t.Fatalf("%s: want ready", name)
		}
		streams = append(streams, stream)
	}
	for _, s := range streams {
		if err := s.Send(goAhead()); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range streams {
		finished := (*rackfabv1.RunFinished)(nil)
		for finished == nil {
			finished = recv(t, s).GetFinished()
		}
		if finished.GetProgress().GetFrameHops() == 0 || finished.GetDigest() == 0 || len(finished.GetResultJson()) == 0 {
			t.Errorf("empty result %v", finished)
		}
	}
	if recv(t, streams[0]).GetProgress() == nil {
		t.Error("a finished node sends no progress")
	}
	for _, s := range streams {
		if err := s.Send(stop()); err != nil {
			t.Fatal(err)
		}
		if err := end(s); !errors.Is(err, io.EOF) {
			t.Errorf("after stop: %v", err)
		}
	}
}
