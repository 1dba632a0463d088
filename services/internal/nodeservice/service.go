// Package nodeservice implements the process of a node, NIC or switch: it serves
// NodeService, announces its address to the rack, and takes its machine through
// runs. It connects the machine to the loop; it knows neither the algorithms nor the
// link protocol.
package nodeservice

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/runner"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Service implements NodeService for one node.
type Service struct {
	rackfabv1.UnimplementedNodeServiceServer
	ctx      context.Context // of the process; its end ends all runs
	name     string
	kind     topology.NodeKind
	conn     bus.Conn
	turn     chan struct{}        // holds a token during a run
	part     atomic.Pointer[part] // of the current run
	patience time.Duration        // how long a run waits for the previous one to end
	// collector receives the telemetry of runs that request it; nil disables export.
	collector grpc.ClientConnInterface
	runs      health.Runs
}

// patience is how long a new run waits for the previous one to end. A controller may
// start a run right after a failed one, before all nodes have left that.
const patience = 5 * time.Second

// New returns the service of the node with the given name and kind, whose links are
// on conn. Its runs end when ctx does.
func New(ctx context.Context, name string, kind topology.NodeKind, conn bus.Conn) *Service {
	s := &Service{ctx: ctx, name: name, kind: kind, conn: conn, turn: make(chan struct{}, 1), patience: patience}
	s.runs.Add((&part{}).metrics) // every counter, at 0
	return s
}

// Tell sets the collector to which runs that request it export telemetry. Call it
// before the first run.
func (s *Service) Tell(collector grpc.ClientConnInterface) { s.collector = collector }

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
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	steps := receive(ctx, stream)
	step, err := next(ctx, steps)
	if err != nil {
		return err
	}
	p, err := s.join(step.GetConfig())
	if err != nil {
		return err
	}
	defer p.leave()
	s.part.Store(p)
	defer s.part.Store(nil)
	if err := stream.Send(asReady(p.links)); err != nil {
		return err
	}
	if err := p.await(ctx, steps); err != nil {
		return err
	}
	return play(ctx, p, stream, steps)
}

// await waits for start. Before start, the controller may impair the bus from the
// first envelope on.
func (p *part) await(ctx context.Context, steps <-chan *rackfabv1.RunRequest) error {
	for {
		step, err := next(ctx, steps)
		if err != nil {
			return err
		}
		switch i := step.GetImpair(); {
		case step.GetStart() != nil:
			return nil
		case i == nil:
			return status.Error(codes.FailedPrecondition, "want start after config")
		default:
			if err := p.impair(i); err != nil {
				return err
			}
		}
	}
}

// enter waits until no other run is active.
func (s *Service) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	limit := time.NewTimer(s.patience)
	defer limit.Stop()
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-limit.C:
		return status.Errorf(codes.FailedPrecondition, "node %s is in another run", s.name)
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// play runs p until the controller sends stop or leaves, and sends the events of p
// to it.
func play(ctx context.Context, p *part, stream rackfabv1.NodeService_RunServer, steps <-chan *rackfabv1.RunRequest) error {
	ended := p.start(ctx)
	progress, latest := p.progress, runner.Progress{}
	beat := time.NewTicker(serve.BeatEvery)
	defer beat.Stop()
	for {
		var event *rackfabv1.RunResponse
		var err error
		select {
		case latest = <-progress:
			event = asProgress(latest)
		case <-beat.C:
			event = asProgress(latest)
		case event = <-p.arrived:
			if err := p.sendCaptured(stream); err != nil {
				return err
			}
		case e := <-p.finished:
			progress = nil // only the beat follows the end
			p.tell.flush()
			if err := p.sendNotes(stream, e.measured.Node); err != nil {
				return err
			}
			event, err = e.message(p.tell.counts())
		case err := <-ended:
			return broken(err)
		case step := <-steps:
			if last, err := p.step(step); err != nil || last {
				return err
			}
			continue
		}
		if err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		if err := stream.Send(event); err != nil {
			return err
		}
	}
}

// step executes a step that the controller sends after start. last reports whether
// it ends the run for the node.
func (p *part) step(step *rackfabv1.RunRequest) (last bool, err error) {
	if grant := step.GetGrant(); grant != nil && p.live {
		return false, p.grant(grant)
	}
	if i := step.GetImpair(); i != nil {
		return false, p.impair(i)
	}
	if step != nil && step.GetStop() == nil {
		return true, status.Error(codes.FailedPrecondition, "want stop or impair after start, or grants in a live run")
	}
	return true, nil
}

// broken returns the error of a run that ended before stop.
func broken(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return status.Error(codes.Unavailable, "the node was stopped in the run")
	default:
		return status.Error(codes.Internal, err.Error())
	}
}

// receive forwards the controller's steps. It closes the channel when the stream
// ends.
func receive(ctx context.Context, stream rackfabv1.NodeService_RunServer) <-chan *rackfabv1.RunRequest {
	steps := make(chan *rackfabv1.RunRequest)
	go func() {
		defer close(steps)
		for {
			step, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case steps <- step:
			case <-ctx.Done():
				return
			}
		}
	}()
	return steps
}

// next waits for a step and returns it.
func next(ctx context.Context, steps <-chan *rackfabv1.RunRequest) (*rackfabv1.RunRequest, error) {
	select {
	case step, ok := <-steps:
		if !ok {
			return nil, status.Error(codes.Canceled, "the controller left before start")
		}
		return step, nil
	case <-ctx.Done():
		return nil, status.Error(codes.Unavailable, "the node was stopped")
	}
}
