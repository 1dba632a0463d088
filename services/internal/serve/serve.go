// Package serve is the plumbing that every gRPC server and client of a rack
// shares: health, reflection, message limits, keepalive on which both sides
// agree, a stop that lets calls end, and the spelling of errors. It knows no
// service.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/identity"
)

// Limits on which servers and clients agree.
const (
	// MaxRequest is the largest message, in bytes, that a server takes; a
	// scenario has to fit in.
	MaxRequest = 4 << 20
	// MaxPlain is the largest request, in bytes, that has no scenario.
	MaxPlain = 1 << 20
	// MaxResponse is the largest message, in bytes, that a client takes; one
	// node's result has to fit in.
	MaxResponse = 64 << 20

	// BeatEvery is how often a node in a run says something, if only how far it
	// is; one that has been silent for BeatLimit is frozen or cut off. gRPC's own
	// pings, which may not come that often, are for connections without a run.
	BeatEvery = time.Second
	BeatLimit = 5 * time.Second

	pingEvery   = 20 * time.Second // client to server, while a call is open
	pingTimeout = 10 * time.Second // a peer that answers no ping is gone
	pingMinimum = 10 * time.Second // a server cuts off who pings faster
	stopLimit   = 2 * time.Second  // for open calls after the stop
)

// Loopback is where servers listen unless told otherwise: a free port that only
// this machine reaches.
const Loopback = "127.0.0.1:0"

// Server is a gRPC server with health and reflection.
type Server struct {
	*grpc.Server
	health   *health.Server
	listener net.Listener
	calls    *calls
}

// Option changes what a server accepts.
type Option func(*limits)

// limits are the largest messages, in bytes, that a server takes, who is told of its
// calls, and whether another port does.
type limits struct {
	request, plain int
	watcher        stats.Handler // nil for nobody
	anyPort        bool
}

// AnyPort lets a server listen at a free port of its host where its address is
// occupied, if that is so.
func AnyPort(does bool) Option { return func(l *limits) { l.anyPort = does } }

// Watched has a handler told of every call of the server.
func Watched(by stats.Handler) Option { return func(l *limits) { l.watcher = by } }

// LargestRequest sets the largest message, in bytes, of any kind that a server
// takes, instead of MaxRequest and MaxPlain.
func LargestRequest(bytes int) Option {
	return func(l *limits) { l.request, l.plain = bytes, bytes }
}

// Listen is ListenAs in plain TCP.
func Listen(address string) (*Server, error) { return ListenAs(address, nil) }

// ListenAs opens a server at address, "" is Loopback, that meets its callers as
// who says. Register services, then call Serve.
func ListenAs(address string, who *identity.TLS, options ...Option) (*Server, error) {
	most := limits{request: MaxRequest, plain: MaxPlain}
	for _, o := range options {
		o(&most)
	}
	if address == "" {
		address = Loopback
	}
	l, err := Open(address, most.anyPort)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	counted := &calls{}
	var watched []grpc.ServerOption
	if most.watcher != nil {
		watched = append(watched, grpc.StatsHandler(most.watcher))
	}
	unary := []grpc.UnaryServerInterceptor{counted.unary, authorizeUnary}
	if most.plain < most.request {
		unary = append(unary, most.refuseLarge)
	}
	s := &Server{
		calls: counted,
		Server: grpc.NewServer(append(watched,
			grpc.Creds(serverCredentials(who)),
			grpc.MaxRecvMsgSize(most.request),
			grpc.ChainUnaryInterceptor(unary...),
			grpc.ChainStreamInterceptor(counted.stream, authorizeStream),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingMinimum}),
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingEvery, Timeout: pingTimeout}),
		)...),
		health:   health.NewServer(),
		listener: l,
	}
	healthpb.RegisterHealthServer(s, s.health)
	reflection.Register(s)
	return s, nil
}

// Open listens at a TCP address, or where it is occupied and any port does, at a free
// port of its host.
func Open(address string, anyPort bool) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if !anyPort || !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

// refuseLarge refuses a request above the plain limit that has no scenario.
func (l limits) refuseLarge(ctx context.Context, q any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	_, scenario := q.(interface{ GetScenario() []byte })
	if m, ok := q.(proto.Message); ok && !scenario {
		if n := proto.Size(m); n > l.plain {
			return nil, status.Errorf(codes.ResourceExhausted, "message of %d bytes, want at most %d", n, l.plain)
		}
	}
	return handle(ctx, q)
}

// Address is where the server listens, "127.0.0.1:40123".
func (s *Server) Address() string { return s.listener.Addr().String() }

// Serve answers calls until ctx ends. It then reports itself as not serving,
// takes no new calls, and gives open ones two seconds to end before it cuts
// them off. A stop by ctx is no error.
func (s *Server) Serve(ctx context.Context) error {
	for name := range s.GetServiceInfo() {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.stop()
	})
	err := s.Server.Serve(s.listener)
	if !unhook() {
		<-stopped
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Close frees the address of a server that is not going to Serve.
func (s *Server) Close() { s.Stop(); _ = s.listener.Close() }

func (s *Server) stop() {
	s.health.Shutdown()
	hard := time.AfterFunc(stopLimit, s.Stop)
	defer hard.Stop()
	s.GracefulStop()
}

// Dial is DialAs in plain TCP.
func Dial(address string) (*grpc.ClientConn, error) { return DialAs(address, nil, "") }

// DialAs opens a client connection to the server at address as who, nil for plain
// TCP; the server has to be the member of that name, or, if it is "", of the name of
// its host. It does not wait for the server; the first call does. Names are looked up for addresses alone: where
// no name server answers, the look-up of a service config would take seconds.
func DialAs(address string, who *identity.TLS, member string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, append(more,
		grpc.WithTransportCredentials(clientCredentials(who, member)),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxResponse)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingTimeout}),
	)...)
}
