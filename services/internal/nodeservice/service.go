// Package nodeservice implements the process of a node, NIC or switch: it serves
// NodeService, announces its address to the rack, and takes its machine through
// runs. It connects the machine to the loop; it knows neither the algorithms nor the
// link protocol.
package nodeservice

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
)

// Service implements NodeService for one node.
type Service struct {
	rackfabv1.UnimplementedNodeServiceServer
	ctx       context.Context // of the process; its end ends all runs
	name      string
	kind      topology.NodeKind
	conn      bus.Conn
	turn      chan struct{} // holds a token during a run
	patience  time.Duration // how long a run waits for the previous one to end
	present   atomic.Pointer[run]
	collector grpc.ClientConnInterface // nil disables export
	runs      health.Runs
}

// patience is how long a new run waits for the previous one to end. A controller may
// start a run right after a failed one, before all nodes have left that.
const patience = 5 * time.Second

// New returns the service of the node with the given name and kind, whose links are
// on conn. Its runs end when ctx does.
func New(ctx context.Context, name string, kind topology.NodeKind, conn bus.Conn) *Service {
	s := &Service{ctx: ctx, name: name, kind: kind, conn: conn, turn: make(chan struct{}, 1), patience: patience}
	s.runs.Add((&run{}).metrics) // every counter, at 0
	return s
}

// ExportTo sets the collector to which runs that request it export telemetry. Call it
// before the first run.
func (s *Service) ExportTo(collector grpc.ClientConnInterface) { s.collector = collector }

// Register adds the node's services to its server: NodeService for the controller,
// and NicService or SwitchService for all clients.
func (s *Service) Register(server grpc.ServiceRegistrar) {
	rackfabv1.RegisterNodeServiceServer(server, s)
	if s.kind == topology.NIC {
		rackfabv1.RegisterNicServiceServer(server, &nicService{node: s})
	} else {
		rackfabv1.RegisterSwitchServiceServer(server, &switchService{node: s})
	}
}

// Run takes the node through one run; see NodeService.
func (s *Service) Run(stream rackfabv1.NodeService_RunServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err := s.waitTurn(ctx); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	steps := receive(ctx, stream)
	var first *rackfabv1.RunRequest // nil if the controller has left
	select {
	case first = <-steps:
	case <-ctx.Done():
		return errStopped
	}
	r, err := s.newRun(first.GetConfig())
	if err != nil {
		return err
	}
	defer r.close()
	s.present.Store(r)
	defer s.present.Store(nil)
	return r.drive(ctx, stream, steps)
}

// waitTurn waits until no other run is active.
func (s *Service) waitTurn(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-limited.Done():
	}
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Errorf(codes.FailedPrecondition, "node %s is in another run", s.name)
}
