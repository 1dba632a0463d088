package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// members are the processes of a run, and their nodes.
type members struct {
	all    []*member // in the order of their first nodes
	nodes  []*hosted // in the order of the scenario
	events chan event
	// ready and left count the members that are ready and that have left the finished
	// run, answered the nodes that have answered the current grant.
	ready, answered, left int
}

// member is a process in a run. Before its first event, receive sets conn and stream and
// sends the config; after it, only the run sends on the stream.
type member struct {
	name, address string
	member        string    // of the rack, whose certificate the process has
	nodes         []*hosted // in the order of the scenario
	conn          *grpc.ClientConn
	stream        rackfabv1.NodeService_RunClient
	ready         bool
	silent        int   // ticks since the process's last message
	still         int   // ticks since its last progress, or since the current grant
	failure       error // nil unless the member has failed
	progress      *rackfabv1.RunProgress
}

// hosted is a node of a member.
type hosted struct {
	*member
	name  string
	index int // in the scenario
	kind  topology.NodeKind

	answered bool // to the current grant
	digest   uint64
	stats    *rackfabv1.NodeStats   // in a live run
	result   *rackfabv1.RunFinished // in a batch run
}

// event is a message received from a member, or the error that ended its stream.
type event struct {
	*member
	message *rackfabv1.RunResponse
	err     error // io.EOF if the process ended the stream without an error
}

func newMembers(s *topology.Scenario, announced []discovery.Hello) members {
	list := members{events: make(chan event)}
	type process struct{ name, address string }
	by := map[process]*member{}
	for i, h := range announced {
		p := process{h.Process, h.Address}
		m := by[p]
		if m == nil {
			m = &member{name: h.Process, address: h.Address, member: cmp.Or(h.Member, h.Process)}
			by[p], list.all = m, append(list.all, m)
		}
		n := &hosted{member: m, name: h.Name, index: i, kind: s.Nodes[i].Kind, answered: true} // there is no grant yet
		m.nodes, list.nodes = append(m.nodes, n), append(list.nodes, n)
	}
	return list
}

// groups returns the groups of several nodes, for the config.
func (l *members) groups() (groups []*rackfabv1.NodeGroup) {
	for _, m := range l.all {
		if len(m.nodes) == 1 && m.nodes[0].name == m.name {
			continue
		}
		g := &rackfabv1.NodeGroup{Name: m.name}
		for _, n := range m.nodes {
			g.Nodes = append(g.Nodes, n.name)
		}
		groups = append(groups, g)
	}
	return groups
}

// names returns the names of the nodes.
func (l *members) names() (names []string) {
	for _, n := range l.nodes {
		names = append(names, n.name)
	}
	return names
}

// finished reports whether all nodes of the member have answered the current grant.
func (m *member) finished() bool {
	return !slices.ContainsFunc(m.nodes, func(n *hosted) bool { return !n.answered })
}

// node returns a node of the member by its name, nil if it has none of that name. "" is
// the name of the only node.
func (m *member) node(name string) *hosted {
	for _, n := range m.nodes {
		if n.name == name || name == "" && len(m.nodes) == 1 {
			return n
		}
	}
	return nil
}

// allReady reports whether all members are ready.
func (l *members) allReady() bool { return l.ready == len(l.all) }

// missing returns the names of the nodes that are not ready.
func (l *members) missing() string {
	var names []string
	for _, n := range l.nodes {
		if !n.ready {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// grant begins a grant, which no node has answered.
func (l *members) grant() {
	l.answered = 0
	for _, n := range l.nodes {
		n.answered, n.still = false, 0
	}
}

// answer records the answer of a node to the current grant, and reports whether it is the
// last one.
func (l *members) answer(n *hosted, digest uint64, p *rackfabv1.RunProgress) (last bool) {
	n.answered, n.digest = true, digest
	n.advances(p)
	l.answered++
	return l.answered == len(l.nodes)
}

// digest returns the digest of the rack: of its nodes' digests in the order of their
// names.
func (l *members) digest() uint64 {
	sorted := slices.SortedFunc(slices.Values(l.nodes), func(a, b *hosted) int { return strings.Compare(a.name, b.name) })
	digests := make([]uint64, len(sorted))
	for i, n := range sorted {
		digests[i] = n.digest
	}
	return node.Combine(digests)
}

// behind returns the members that have not answered the current grant, the least advanced
// first.
func (l *members) behind() (list []*member) {
	for _, m := range l.all {
		if !m.finished() {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b *member) int {
		return cmp.Compare(a.progress.GetFabricTimePs(), b.progress.GetFabricTimePs())
	})
	return list
}

// advances records a member's progress, and whether it is any.
func (m *member) advances(p *rackfabv1.RunProgress) {
	if p.GetFabricTimePs() != m.progress.GetFabricTimePs() || p.GetFrameHops() != m.progress.GetFrameHops() {
		m.still = 0
	}
	m.progress = p
}

// receive opens the process's stream, sends the config and forwards all messages as
// events until ctx ends. The last event is the error that ends the stream.
func (m *member) receive(ctx context.Context, o *Options, config *rackfabv1.RunConfig, events chan<- event) {
	deliver := func(message *rackfabv1.RunResponse, err error) {
		select {
		case events <- event{m, message, err}:
		case <-ctx.Done():
		}
	}
	conn, err := serve.DialAs(m.address, o.TLS, m.member, grpc.WithStatsHandler(o.calls.Client()))
	if err != nil {
		deliver(nil, err)
		return
	}
	defer conn.Close()
	m.conn = conn
	if m.stream, err = rackfabv1.NewNodeServiceClient(conn).Run(ctx); err != nil {
		deliver(nil, m.unreached(err))
		return
	}
	mine := proto.CloneOf(config)
	mine.Node = m.name
	// An error of Send says only that the stream has ended; Recv returns the cause.
	_ = m.stream.Send(&rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Config{Config: mine}})
	for heard := false; ; heard = true {
		message, err := m.stream.Recv()
		if err != nil && !heard {
			err = m.unreached(err)
		}
		deliver(message, err)
		if err != nil {
			return
		}
	}
}

// unreached adds the announced address to the error of a stream without messages, if it
// means that there is no such process at that address.
func (m *member) unreached(err error) error {
	switch why := status.Convert(err).Message(); {
	case status.Code(err) == codes.Unimplemented:
		return fmt.Errorf("announces %s, where another process listens: use --advertise", m.address)
	case status.Code(err) == codes.Unavailable && health.Reason(why) != why && !strings.HasPrefix(health.Reason(why), "transport: "):
		return fmt.Errorf("announces %s, which this machine cannot reach (%s): use --advertise if the node runs", m.address, health.Reason(why))
	}
	return err
}

// send sends a step. If the stream has ended, send returns nil, because the error of
// the stream arrives as an event.
func (m *member) send(step *rackfabv1.RunRequest) error {
	if err := m.stream.Send(step); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// settings returns the current settings of the node, from its process.
func (n *hosted) settings(ctx context.Context) (*rackfabv1.NodeSettings, error) {
	if n.kind == topology.NIC {
		out, err := rackfabv1.NewNicServiceClient(n.conn).GetSettings(ctx, &rackfabv1.NicServiceGetSettingsRequest{Node: n.name})
		return out.GetSettings(), err
	}
	out, err := rackfabv1.NewSwitchServiceClient(n.conn).GetSettings(ctx, &rackfabv1.SwitchServiceGetSettingsRequest{Node: n.name})
	return out.GetSettings(), err
}
