package page

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// serving serves h at a free port until stop, which returns the result of Serve.
func serving(t *testing.T, h http.Handler) (url string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, h) }()
	return "http://" + l.Addr().String(), func() error {
		cancel()
		return <-ended
	}
}

// ask sends a GET request.
func ask(t *testing.T, url string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	out, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Body.Close() }) // it was only read
	return out
}

// A page that stops ends its viewers' streams cleanly: they are not cut off.
func TestServeEndsStreamsFirst(t *testing.T) {
	url, stop := serving(t, newPage(t, Options{}))
	out := ask(t, url+"/api/live")
	if out.StatusCode != http.StatusOK {
		t.Fatal(out.Status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(out.Body); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
}

// Serve also serves a handler that is not a Page.
func TestServeStandIn(t *testing.T) {
	url, stop := serving(t, http.NotFoundHandler())
	if out := ask(t, url); out.StatusCode != http.StatusNotFound {
		t.Error(out.Status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A failing listener ends the page with its error.
func TestServeReturnsTheErrorOfItsListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), l, newPage(t, Options{})); !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), "accept") {
		t.Errorf("got %v", err)
	}
}

// A call whose body does not arrive is answered after a minute, and says why.
func TestSlowCallIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(t, Options{Fabric: &rack{}})
		client, server := net.Pipe()
		l := &single{conns: make(chan net.Conn, 1), done: make(chan struct{})}
		l.conns <- server
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, l, p) }()
		begin := time.Now()
		head := "POST /api/call/Apply HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + tokenHeader + ": " + p.token + "\r\nContent-Length: 100\r\n\r\n{"
		go func() { _, _ = io.WriteString(client, head) }()
		out, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(out.Body) // the server closes the connection
		if out.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "i/o timeout") || time.Since(begin) != bodyLimit {
			t.Errorf("%s %s after %v", out.Status, text, time.Since(begin))
		}
		_ = client.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// single is a listener with given connections.
type single struct {
	net.Listener
	conns chan net.Conn
	done  chan struct{}
}

func (s *single) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *single) Close() error { close(s.done); return nil }
func (*single) Addr() net.Addr { return &net.TCPAddr{} }
