// Package nodeservice is the process of a node, NIC and switch alike: it serves
// NodeService, tells the rack where it is, and takes its machine through runs.
// It wires the machine to the loop; it knows neither algorithm nor link
// protocol.
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
	"github.com/rackfab/rackfab/services/internal/runner"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Service implements NodeService for one node.
type Service struct {
	rackfabv1.UnimplementedNodeServiceServer
	ctx      context.Context // of the process: runs end with it
	name     string
	kind     topology.NodeKind
	conn     bus.Conn
	turn     chan struct{}        // holds a token while a run goes on
	part     atomic.Pointer[part] // of the run that goes on
	patience time.Duration        // how long a run waits for the one before to end
	// collector is told of runs that ask for it; nil is nobody.
	collector grpc.ClientConnInterface
	pulse     pulse
}

// patience is for a controller that starts a run at the heels of one that
// failed, whose nodes may not have left it yet.
const patience = 5 * time.Second

// New makes the service of the node with that name and kind, whose links are on
// conn. Runs end when ctx does.
func New(ctx context.Context, name string, kind topology.NodeKind, conn bus.Conn) *Service {
	return &Service{ctx: ctx, name: name, kind: kind, conn: conn, turn: make(chan struct{}, 1), patience: patience}
}

// Tell has runs that ask for it told to a collector. Call it before the first run.
func (s *Service) Tell(collector grpc.ClientConnInterface) { s.collector = collector }

// Register adds the node's services to its server: NodeService for its controller,
// and its own for everybody.
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

// await waits for start. Until then the controller may have the bus made bad, so that
// it is from the first envelope on.
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

// enter waits until no other run goes on.
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

// play runs p until the controller says stop or leaves, and sends what p
// reports.
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
			progress = nil // but for the beat, nothing comes after the end
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

// step does what the controller says after start; last tells that the run is over
// for the node.
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

// broken is the error of a run that ended before stop.
func broken(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return status.Error(codes.Unavailable, "the node was stopped in the run")
	default:
		return status.Error(codes.Internal, err.Error())
	}
}

// receive passes on the controller's steps; the channel closes when no more come.
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

// next waits for a step.
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
