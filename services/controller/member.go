package controller

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// member is a node in a run. Before the first event, take sets conn and stream and
// sends the config; after it, only the run sends on the stream.
type member struct {
	name, address string
	who           *identity.TLS // of the controller, for calls to the node
	calls         *telemetry.Calls
	conn          *grpc.ClientConn
	stream        rackfabv1.NodeService_RunClient
	ready         bool
	quiet         int // ticks since the node's last message
	progress      *rackfabv1.RunProgress
	finished      *rackfabv1.RunFinished
	reached       *rackfabv1.RunReached // in a live run
}

// take opens the node's stream, sends the config and forwards all messages as
// events until ctx ends. The last event is the error that ends the stream.
func (m *member) take(ctx context.Context, config *rackfabv1.RunConfig, events chan<- event) {
	hand := func(e event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	conn, err := serve.DialAs(m.address, m.who, m.name, grpc.WithStatsHandler(m.calls.Client()))
	if err != nil {
		hand(event{member: m, err: err})
		return
	}
	defer conn.Close()
	m.conn = conn
	if err := m.open(ctx, rackfabv1.NewNodeServiceClient(conn), config); err != nil {
		hand(event{member: m, err: err})
		return
	}
	for {
		message, err := m.stream.Recv()
		hand(event{member: m, message: message, err: err})
		if err != nil {
			return
		}
	}
}

func (m *member) open(ctx context.Context, node rackfabv1.NodeServiceClient, config *rackfabv1.RunConfig) error {
	stream, err := node.Run(ctx)
	if err != nil {
		return err
	}
	mine := proto.CloneOf(config)
	mine.Node = m.name
	m.stream = stream
	// An error of Send says only that the stream has ended; Recv returns the cause.
	_ = stream.Send(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Config{Config: mine}})
	return nil
}

// send sends a step. If the stream has ended, send returns nil, because the error
// of the stream arrives as an event. Any other error names the node.
func (m *member) send(step *rackfabv1.RunRequest) error {
	if err := m.stream.Send(step); err != nil && !errors.Is(err, io.EOF) {
		return serve.NodeFailed(m.name, err)
	}
	return nil
}
