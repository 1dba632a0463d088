// Package health asks a process of a rack whether it serves: the bus by NATS,
// every other process by the gRPC health service. It knows no other call.
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

// Check gives nil if the process at address serves. The address is "host:port"
// of a gRPC server, or the URL of a bus, "nats://host:port"; who is the one who asks,
// nil in plain TCP.
func Check(ctx context.Context, address string, who *identity.TLS) error {
	if strings.HasPrefix(address, "nats://") {
		return checkBus(address, who)
	}
	return check(ctx, address, who, "", grpc.WaitForReady(false))
}

// Await is Check of a gRPC server that may be about to start: until ctx ends, it
// waits for one that does not answer. With TLS, it has to be the member.
func Await(ctx context.Context, address string, who *identity.TLS, member string) error {
	return check(ctx, address, who, member, grpc.WaitForReady(true))
}

func check(ctx context.Context, address string, who *identity.TLS, member string, option grpc.CallOption) error {
	conn, err := serve.DialAs(address, who, member)
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	defer func() { _ = conn.Close() }() // the answer is in
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, option)
	if err != nil {
		return fmt.Errorf("%s: %s", address, Reason(status.Convert(err).Message()))
	}
	if answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("%s: %s", address, answer.GetStatus())
	}
	return nil
}

// Reason is the core of what a client of gRPC says of a server that it has not
// reached; any other message stays as it is.
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
		return "something else answers there"
	}
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	return strings.TrimPrefix(text, "transport: Error while dialing: ")
}

// checkBus connects as a node does, within the limits that a node has. It has no
// key: a bus that refuses it answers, and does what it should.
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
