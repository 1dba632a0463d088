package health

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/services/internal/serve"
)

func TestCheck(t *testing.T) {
	server, err := serve.ListenAs("", nil, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	broker, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{server.Address(), broker.URL()} {
		if err := Check(t.Context(), address, nil); err != nil {
			t.Errorf("%s serves, got %v", address, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	broker.Shutdown()
	for _, address := range []string{server.Address(), broker.URL()} {
		if err := Check(t.Context(), address, nil); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("of %s, which has ended: %v", address, err)
		}
	}
}

// A server that accepts connections but never answers is not healthy, and the caller's
// deadline applies.
func TestCheckOfASilentServerEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Check(ctx, l.Addr().String(), nil) }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	if err := <-ended; err == nil {
		t.Error("healthy")
	}
}

// Await finds a server that starts while it waits.
func TestAwaitOfAServerThatIsAboutToStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	found := make(chan error, 1)
	go func() { found <- Await(t.Context(), address, nil, "") }()
	conn, err := l.Accept() // Await has connected
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	l.Close()
	server, err := serve.ListenAs(address, nil, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	if err := <-found; err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Reason removes the layers that the gRPC client adds to the message.
func TestReason(t *testing.T) {
	for message, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: refused"`:                        "dial tcp 127.0.0.1:1: refused",
		`latest balancer error: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: refused"`: "dial tcp 127.0.0.1:1: refused",
		`connection error: desc = "error reading server preface: http2: frame too large"`:                                 "the server does not speak gRPC",
		`connection error: desc = "transport: authentication handshake failed: tls: bad"`:                                 "transport: authentication handshake failed: tls: bad",
		"latest balancer error: name resolver error: produced zero addresses":                                             "no such host",
		"name resolver error: dns: A record lookup error: lookup h: server misbehaving":                                   "dns: A record lookup error: lookup h: server misbehaving",
		"unknown service": "unknown service",
	} {
		if got := Reason(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}
