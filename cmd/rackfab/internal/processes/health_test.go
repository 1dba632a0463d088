package processes

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// startingListener closes its first connection, as if its process had not started yet.
type startingListener struct {
	net.Listener
	started bool
}

func (l *startingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil || l.started {
		return conn, err
	}
	l.started = true
	if err := conn.Close(); err != nil {
		return nil, err
	}
	return l.Listener.Accept()
}

// Without a time to wait, the first failure is final. With one, a process that starts
// later is healthy.
func TestHealthWaits(t *testing.T) {
	for wait, healthy := range map[time.Duration]bool{0: false, time.Hour: true} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		healthpb.RegisterHealthServer(server, health.NewServer())
		go func() { _ = server.Serve(&startingListener{Listener: l}) }() // ends at Stop
		err = awaitHealth(t.Context(), time.Now().Add(wait), l.Addr().String(), nil)
		server.Stop()
		if (err == nil) != healthy {
			t.Errorf("wait of %v: %v", wait, err)
		}
	}
}

// The end of the context ends the wait.
func TestHealthWaitEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := awaitHealth(ctx, time.Now().Add(time.Hour), "127.0.0.1:1", nil); err == nil {
		t.Error("a process that does not listen is healthy")
	}
}
