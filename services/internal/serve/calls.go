package serve

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/identity"
)

func serverCredentials(who *identity.TLS) credentials.TransportCredentials {
	if who == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(who.Server())
}

func clientCredentials(who *identity.TLS, member string) credentials.TransportCredentials {
	if who == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(who.Client(member))
}

// open lists the prefixes of the methods that every member of a rack may call:
// health and telemetry.
var open = []string{"/grpc.health.v1.Health/", "/opentelemetry.proto.collector."}

// authorize refuses a call that the calling member may not make: a node serves and
// reports, but commands no other process. TLS has already rejected callers without a
// certificate. In plain TCP, without certificates, all calls are allowed.
func authorize(ctx context.Context, method string) error {
	for _, prefix := range open {
		if strings.HasPrefix(method, prefix) {
			return nil
		}
	}
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil
	}
	caller := info.State.PeerCertificates[0] // RequireAndVerifyClientCert
	if identity.MayCommand(caller) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "%s may not call %s: want the certificate of the controller or of a client", caller.Subject.CommonName, method)
}

// call is a method, "/rackfab.v1.NodeService/Run", and how it ended.
type call struct {
	method string
	code   codes.Code
}

func (s *Server) count(method string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[call{method, status.Code(err)}]++
}

// Calls passes to report, for each method and status code, the number of calls that
// ended with it. It may be called at any time.
func (s *Server) Calls(report func(method, code string, count int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, n := range s.counts {
		report(c.method, c.code.String(), n)
	}
}

// unary authorizes, handles and counts a call. It refuses a request without a scenario
// that is above the plain limit.
func (s *Server) unary(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	defer func() { s.count(info.FullMethod, err) }()
	if err := authorize(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	_, scenario := q.(interface{ GetScenario() []byte })
	if m, ok := q.(proto.Message); ok && !scenario {
		if n := proto.Size(m); n > s.plain {
			return nil, status.Errorf(codes.ResourceExhausted, "message of %d bytes, want at most %d", n, s.plain)
		}
	}
	return handle(ctx, q)
}

// stream authorizes, handles and counts a streaming call.
func (s *Server) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer func() { s.count(info.FullMethod, err) }()
	if err := authorize(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handle(server, stream)
}
