package serve

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes, for the virtual time of synctest.
type pipes struct {
	net.Listener
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// lasts returns how long a server keeps a connection on which a client has sent a text
// and nothing more.
func lasts(t *testing.T, p *pipes, text string) time.Duration {
	t.Helper()
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	p.conns <- server
	begin := time.Now()
	go func() { _, _ = io.WriteString(client, text) }() // ends with the connection
	_, _ = io.Copy(io.Discard, client)                  // until the server closes it
	return time.Since(begin)
}

// established is the beginning of a connection of gRPC: the preface of HTTP/2, and no
// settings.
const established = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// Servers close a connection whose client is silent, or sends a part of a header, after
// ten seconds. A client of gRPC that falls silent later does not answer pings.
func TestSilentConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rpcs, err := ListenAs("", nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		web := HTTP(http.NotFoundHandler())
		for name, tt := range map[string]struct {
			serve func(net.Listener) error
			stop  func()
			sent  map[string]time.Duration
		}{
			"gRPC": {rpcs.Server.Serve, rpcs.Close, map[string]time.Duration{"": handshakeLimit, "PRI * HTTP/2.0\r\n": handshakeLimit, established: pingEvery + pingTimeout}},
			"HTTP": {web.Serve, func() { _ = web.Close() }, map[string]time.Duration{"": headerLimit, "GET / HTTP/1.1\r\nHost: x\r\nX: ": headerLimit}},
		} {
			p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
			go func() { _ = tt.serve(p) }() // until stop
			for text, limit := range tt.sent {
				if took := lasts(t, p, text); took != limit {
					t.Errorf("%s, %q: closed after %v, want %v", name, text, took, limit)
				}
			}
			tt.stop()
		}
	})
}
