package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
)

// start serves until the end of the test. It returns the server and the result of
// Serve.
func start(t *testing.T) (*Server, context.CancelFunc, <-chan error) {
	t.Helper()
	s, err := ListenAs("", nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(cancel)
	return s, cancel, ended
}

func TestHealthAndReflection(t *testing.T) {
	s, cancel, ended := start(t)
	conn, err := DialAs(s.Address(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || h.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("health: %v, %v", h, err)
	}
	if names := services(t, reflectionpb.NewServerReflectionClient(conn)); !slices.Contains(names, "grpc.health.v1.Health") {
		t.Fatalf("reflection lists %v", names)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatalf("a stop by context ended with %v", err)
	}
}

// services lists the services of a server, by reflection.
func services(t *testing.T, client reflectionpb.ServerReflectionClient) []string {
	t.Helper()
	stream, err := client.ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{},
	}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.CloseSend()
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return names
}

// An open call does not prevent a stopping server from ending.
func TestStopWithOpenCall(t *testing.T) {
	s, cancel, ended := start(t)
	conn, err := DialAs(s.Address(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestListenRejectsInvalidAddress(t *testing.T) {
	if _, err := ListenAs("no such address", nil, Options{}); err == nil {
		t.Fatal("listened at an invalid address")
	}
}

// With AnyPort, an address in use is not an error, but an invalid address is.
func TestAnyPort(t *testing.T) {
	first, err := Open(Loopback, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	at := first.Addr().String()
	if _, err := Open(at, false); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("an occupied address: %v", err)
	}
	second, err := ListenAs(at, nil, Options{AnyPort: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Close)
	if second.Address() == at || !strings.HasPrefix(second.Address(), "127.0.0.1:") {
		t.Errorf("beside %s at %s", at, second.Address())
	}
	if _, err := Open("nowhere", true); err == nil {
		t.Error("listened at an invalid address")
	}
}

func TestErrorDetails(t *testing.T) {
	invalid := Invalid("node", "no node %q", "h9")
	if status.Code(invalid) != codes.InvalidArgument || Violations(invalid)["node"] != `no node "h9"` {
		t.Errorf("invalid: %v, %v", invalid, Violations(invalid))
	}
	for _, cause := range []error{errors.New("gone"), status.Error(codes.Unavailable, "gone"), fmt.Errorf("gone")} {
		failed := NodeFailed("h3", cause)
		if FailedNode(failed) != "h3" || status.Convert(failed).Message() != "node h3: gone" {
			t.Errorf("failed: %v names %q", failed, FailedNode(failed))
		}
	}
	if n := FailedNode(errors.New("plain")); n != "" {
		t.Errorf("a plain error names %q", n)
	}
	if v := Violations(nil); len(v) != 0 {
		t.Errorf("violations of a nil error: %v", v)
	}
}
