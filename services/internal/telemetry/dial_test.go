package telemetry

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
)

// TRUST-13: A process says once that its collector cannot be reached, and after its patience that it
// goes on without.
func TestAbsentCollectorIsLogged(t *testing.T) {
	r, w := io.Pipe()
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(w, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	conn, err := Await(t.Context(), time.Millisecond, "127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"waits for the collector at 127.0.0.1:1", "goes on without the collector"} {
		line := make([]byte, 1024)
		n, err := r.Read(line)
		if err != nil || !strings.Contains(string(line[:n]), want) {
			t.Errorf("logged %q, %v, want %q", line[:n], err, want)
		}
	}
	_ = conn.Close()
}

// Await logs no collector that is reached, and none after the connection was closed.
func TestReachedCollectorIsNotLogged(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(l) }() // ends at Stop
	conn, err := Dial(l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := reach(t.Context(), conn); err != nil {
		t.Error(err)
	}
	_ = conn.Close()
	if err := reach(t.Context(), conn); err != nil {
		t.Errorf("closed: %v", err)
	}
}
