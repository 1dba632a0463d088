// Package health observes the processes of a rack. Check asks a process whether it
// serves: the bus over NATS, every other process over the gRPC health service. Serve
// exports the metrics of this process to Prometheus, in wall time; a process that does
// not call it creates no metric. Package health knows no service: a service provides
// its counters as a Source.
package health

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// Check returns nil if the process at address serves. The address is "host:port"
// of a gRPC server, or the URL of a bus, "nats://host:port". who is the identity of
// the caller, nil for plain TCP.
func Check(ctx context.Context, address string, who *identity.TLS) error {
	if strings.HasPrefix(address, "nats://") {
		return checkBus(address, who)
	}
	return check(ctx, address, who, "", grpc.WaitForReady(false))
}

// Await is Check for a gRPC server that may not have started yet: it waits until
// the server answers or ctx ends. With TLS, the server must be the given member.
func Await(ctx context.Context, address string, who *identity.TLS, member string) error {
	return check(ctx, address, who, member, grpc.WaitForReady(true))
}

func check(ctx context.Context, address string, who *identity.TLS, member string, option grpc.CallOption) error {
	conn, err := serve.DialAs(address, who, member)
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	defer func() { _ = conn.Close() }() // the answer has been received
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, option)
	if err != nil {
		return fmt.Errorf("%s: %s", address, Reason(status.Convert(err).Message()))
	}
	if answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("%s: %s", address, answer.GetStatus())
	}
	return nil
}

// Reason returns the cause in a gRPC client's message about an unreachable server.
// It returns any other message unchanged.
func Reason(message string) string {
	if _, text, ok := strings.Cut(message, "name resolver error: "); ok {
		if text == "produced zero addresses" {
			return "no such host"
		}
		return text
	}
	_, text, ok := strings.Cut(message, "connection error: desc = ")
	switch {
	case !ok:
		return message
	case strings.Contains(text, "server preface"):
		return "the server does not speak gRPC"
	}
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	return strings.TrimPrefix(text, "transport: Error while dialing: ")
}

// checkBus connects as a node does, with the same limits. It has no key: a bus that
// refuses it is serving.
func checkBus(url string, who *identity.TLS) error {
	conn, err := bus.DialAs(url, "health", bus.Access{TLS: who.Client("")})
	if errors.Is(err, bus.ErrRefused) {
		return nil
	}
	if err != nil {
		return err
	}
	conn.Close()
	return nil
}
