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

// forAll lists the prefixes of the methods that every member of a rack may call:
// health and telemetry.
var forAll = []string{"/grpc.health.v1.Health/", "/opentelemetry.proto.collector."}

// authorize refuses a call that the calling member may not make: a node serves and
// reports, but commands no other process. TLS has already rejected callers without a
// certificate. In plain TCP, without certificates, all calls are allowed.
func authorize(ctx context.Context, method string) error {
	for _, free := range forAll {
		if strings.HasPrefix(method, free) {
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
	return status.Errorf(codes.PermissionDenied, "%s may not call %s: a certificate of the controller or of a client may", caller.Subject.CommonName, method)
}

func authorizeUnary(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := authorize(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handle(ctx, q)
}

func authorizeStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := authorize(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handle(server, stream)
}
