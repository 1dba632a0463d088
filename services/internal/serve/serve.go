// Package serve implements what all gRPC servers and clients of a rack share:
// health, reflection, message limits, matching keepalive parameters, graceful stop
// and the form of errors. It knows no service.
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

// Limits that servers and clients share.
const (
	// MaxRequest is the largest message, in bytes, that a server accepts. A
	// scenario has to fit into it.
	MaxRequest = 4 << 20
	// MaxPlain is the largest request without a scenario, in bytes.
	MaxPlain = 1 << 20
	// MaxResponse is the largest message, in bytes, that a client accepts. The
	// result of one node has to fit into it.
	MaxResponse = 64 << 20

	// BeatEvery is the interval at which a node in a run sends its progress. A node
	// that has been silent for BeatLimit is frozen or disconnected. gRPC's own
	// pings, which may not be that frequent, are for connections without a run.
	BeatEvery = time.Second
	BeatLimit = 5 * time.Second

	pingEvery   = 20 * time.Second // client to server, while a call is open
	pingTimeout = 10 * time.Second // a peer that does not answer a ping within it is gone
	pingMinimum = 10 * time.Second // a server disconnects clients that ping more often
	stopLimit   = 2 * time.Second  // for open calls to end after the stop
)

// Loopback is the default address of servers: a free port that only this machine can
// reach.
const Loopback = "127.0.0.1:0"

// Server is a gRPC server with health and reflection.
type Server struct {
	*grpc.Server
	health   *health.Server
	listener net.Listener
	calls    *calls
}

// Option changes the defaults of a server.
type Option func(*limits)

// limits are the options of a server: the largest messages, in bytes, that it
// accepts, the handler that watches its calls, and whether it may use another port.
type limits struct {
	request, plain int
	watcher        stats.Handler // nil for none
	anyPort        bool
}

// AnyPort lets a server listen on a free port of its host when its address is in use,
// if does is true.
func AnyPort(does bool) Option { return func(l *limits) { l.anyPort = does } }

// Watched attaches a handler that observes every call of the server.
func Watched(by stats.Handler) Option { return func(l *limits) { l.watcher = by } }

// LargestRequest sets the largest message of any kind, in bytes, that a server
// accepts, instead of MaxRequest and MaxPlain.
func LargestRequest(bytes int) Option {
	return func(l *limits) { l.request, l.plain = bytes, bytes }
}

// Listen is ListenAs in plain TCP.
func Listen(address string) (*Server, error) { return ListenAs(address, nil) }

// ListenAs opens a server at address, "" for Loopback. who is the identity of the
// server, nil for plain TCP. Register services, then call Serve.
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

// Open listens at a TCP address. If the address is in use and anyPort is true, it
// listens on a free port of the same host.
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

// refuseLarge refuses a request without a scenario that is above the plain limit.
func (l limits) refuseLarge(ctx context.Context, q any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	_, scenario := q.(interface{ GetScenario() []byte })
	if m, ok := q.(proto.Message); ok && !scenario {
		if n := proto.Size(m); n > l.plain {
			return nil, status.Errorf(codes.ResourceExhausted, "message of %d bytes, want at most %d", n, l.plain)
		}
	}
	return handle(ctx, q)
}

// Address returns the address of the server, "127.0.0.1:40123".
func (s *Server) Address() string { return s.listener.Addr().String() }

// Serve answers calls until ctx ends. It then reports itself as not serving, accepts
// no new calls, and cancels open calls that have not ended two seconds later. Serve
// returns nil if ctx has ended.
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

// Close frees the address of a server whose Serve will not be called.
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
// TCP. The server must be the given member or, if member is "", the member with the
// name of its host. DialAs does not wait for the server; the first call does. The
// resolver looks up addresses only: if no name server answers, the lookup of a
// service config would take seconds.
func DialAs(address string, who *identity.TLS, member string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, append(more,
		grpc.WithTransportCredentials(clientCredentials(who, member)),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxResponse)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingTimeout}),
	)...)
}
