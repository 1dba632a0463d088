package page

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
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
