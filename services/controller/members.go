package controller

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// members are the nodes of a run.
type members struct {
	all    []*member // in the order of the scenario
	events chan event
	// ready, answered and left count the members that are ready, that have answered
	// the current grant and that have left the finished run.
	ready, answered, left int
}

// member is a node in a run. Before its first event, receive sets conn and stream and
// sends the config; after it, only the run sends on the stream.
type member struct {
	name, address string
	kind          topology.NodeKind
	conn          *grpc.ClientConn
	stream        rackfabv1.NodeService_RunClient
	ready         bool
	silent        int   // ticks since the node's last message
	failure       error // of the member that fails first

	answered bool // to the current grant
	digest   uint64
	progress *rackfabv1.RunProgress
	stats    *rackfabv1.NodeStats   // in a live run
	result   *rackfabv1.RunFinished // in a batch run
}

// event is a message received from a member, or the error that ended its stream.
type event struct {
	*member
	message *rackfabv1.RunResponse
	err     error // io.EOF if the node ended the stream without an error
}

func newMembers(s *topology.Scenario, announced []discovery.Hello) members {
	list := members{events: make(chan event)}
	for i, h := range announced {
		list.all = append(list.all, &member{name: h.Name, address: h.Address, kind: s.Nodes[i].Kind})
	}
	return list
}

// names returns the names of the members.
func (l *members) names() (names []string) {
	for _, m := range l.all {
		names = append(names, m.name)
	}
	return names
}

// allReady reports whether all members are ready.
func (l *members) allReady() bool { return l.ready == len(l.all) }

// notReady returns the names of the members that are not ready.
func (l *members) notReady() string {
	var names []string
	for _, m := range l.all {
		if !m.ready {
			names = append(names, m.name)
		}
	}
	return strings.Join(names, ", ")
}

// grant begins a grant, which no member has answered.
func (l *members) grant() {
	l.answered = 0
	for _, m := range l.all {
		m.answered = false
	}
}

// answer records the answer of a member to the current grant, and reports whether it
// is the last one.
func (l *members) answer(m *member, digest uint64, p *rackfabv1.RunProgress) (last bool) {
	m.answered, m.digest, m.progress = true, digest, p
	l.answered++
	return l.answered == len(l.all)
}

// digest returns the digest of the rack: of its members' digests in the order of their
// names.
func (l *members) digest() uint64 {
	sorted := slices.SortedFunc(slices.Values(l.all), func(a, b *member) int { return strings.Compare(a.name, b.name) })
	digests := make([]uint64, len(sorted))
	for i, m := range sorted {
		digests[i] = m.digest
	}
	return node.Combine(digests)
}

// receive opens the node's stream, sends the config and forwards all messages as
// events until ctx ends. The last event is the error that ends the stream.
func (m *member) receive(ctx context.Context, o *Options, config *rackfabv1.RunConfig, events chan<- event) {
	deliver := func(message *rackfabv1.RunResponse, err error) {
		select {
		case events <- event{m, message, err}:
		case <-ctx.Done():
		}
	}
	conn, err := serve.DialAs(m.address, o.TLS, m.name, grpc.WithStatsHandler(o.calls.Client()))
	if err != nil {
		deliver(nil, err)
		return
	}
	defer conn.Close()
	m.conn = conn
	if m.stream, err = rackfabv1.NewNodeServiceClient(conn).Run(ctx); err != nil {
		deliver(nil, err)
		return
	}
	mine := proto.CloneOf(config)
	mine.Node = m.name
	// An error of Send says only that the stream has ended; Recv returns the cause.
	_ = m.stream.Send(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Config{Config: mine}})
	for {
		message, err := m.stream.Recv()
		deliver(message, err)
		if err != nil {
			return
		}
	}
}

// send sends a step. If the stream has ended, send returns nil, because the error of
// the stream arrives as an event.
func (m *member) send(step *rackfabv1.RunRequest) error {
	if err := m.stream.Send(step); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// settings returns the current settings of the node, from its own service.
func (m *member) settings(ctx context.Context) (*rackfabv1.NodeSettings, error) {
	if m.kind == topology.NIC {
		out, err := rackfabv1.NewNicServiceClient(m.conn).GetSettings(ctx, &rackfabv1.NicServiceGetSettingsRequest{})
		return out.GetSettings(), err
	}
	out, err := rackfabv1.NewSwitchServiceClient(m.conn).GetSettings(ctx, &rackfabv1.SwitchServiceGetSettingsRequest{})
	return out.GetSettings(), err
}
