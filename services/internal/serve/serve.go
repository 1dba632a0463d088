// Package serve implements what all gRPC servers and clients of a rack share:
// health, reflection, message limits, matching keepalive parameters, graceful stop
// and the form of errors. It knows no service.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"

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

	// MaxHeader is the largest header of a request, in bytes, of HTTP and of gRPC. What
	// clients of a rack send, with a token and a trace context, has less than 1 KiB; the
	// defaults, 1 MiB and 16 MiB, would be memory of each connection.
	MaxHeader = 64 << 10

	// maxConnections is the largest number of connections of a listener; others wait
	// until one ends. A rack has up to 1024 workers, each with a connection or two.
	maxConnections = 4096
	// maxCalls is the largest number of open calls of a gRPC connection. The controller
	// opens some calls per node of a process, and a process has up to 1024.
	maxCalls = 4096
	// handshakeLimit is how long a connection may take until it is established, with TLS
	// and the preface of HTTP/2. Silent connections are closed after it.
	handshakeLimit = 10 * time.Second

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
	plain    int // largest request without a scenario, in bytes
	mu       sync.Mutex
	counts   map[call]int64
}

// Options change the defaults of a server.
type Options struct {
	// LargestRequest is the largest message of any kind, in bytes, that the server
	// accepts; 0 for MaxRequest and MaxPlain.
	LargestRequest int
	// Codec decodes requests and encodes answers; nil for gRPC's own.
	Codec encoding.CodecV2
	// Watch, if not nil, observes every call of the server.
	Watch stats.Handler
	// AnyPort lets the server listen on a free port of its host when its address is in
	// use.
	AnyPort bool
}

// ListenAs opens a server at address, "" for Loopback. who is the identity of the
// server, nil for plain TCP. Register services, then call Serve.
func ListenAs(address string, who *identity.TLS, o Options) (*Server, error) {
	l, err := Open(cmp.Or(address, Loopback), o.AnyPort)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", cmp.Or(address, Loopback), err)
	}
	s := &Server{health: health.NewServer(), listener: l, plain: cmp.Or(o.LargestRequest, MaxPlain), counts: map[call]int64{}}
	settings := []grpc.ServerOption{
		grpc.Creds(serverCredentials(who)),
		grpc.MaxRecvMsgSize(cmp.Or(o.LargestRequest, MaxRequest)),
		grpc.MaxHeaderListSize(MaxHeader),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(handshakeLimit),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingMinimum}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingEvery, Timeout: pingTimeout}),
	}
	if o.Codec != nil {
		settings = append(settings, grpc.ForceServerCodecV2(o.Codec))
	}
	if o.Watch != nil {
		settings = append(settings, grpc.StatsHandler(o.Watch))
	}
	s.Server = grpc.NewServer(settings...)
	healthpb.RegisterHealthServer(s, s.health)
	reflection.Register(s)
	return s, nil
}

// Open listens at a TCP address, for at most maxConnections at a time. If the address is
// in use and anyPort is true, it listens on a free port of the same host.
func Open(address string, anyPort bool) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if anyPort && errors.Is(err, syscall.EADDRINUSE) {
		var host string
		if host, _, err = net.SplitHostPort(address); err == nil {
			l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
		}
	}
	if err != nil {
		return nil, err
	}
	return Limited(l), nil
}

// Limited returns a listener with at most maxConnections connections. Open does so, too.
func Limited(l net.Listener) net.Listener { return netutil.LimitListener(l, maxConnections) }

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
