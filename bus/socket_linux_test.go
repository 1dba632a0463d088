package bus

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// sockets returns the two ends of a loopback connection, both wrapped.
func sockets(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err = dialer{}.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	b = newSocket(c)
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// A socket transfers all, whether its reads sleep or spin.
func TestSocketTransfersMoreThanItsBuffers(t *testing.T) {
	for _, runtime := range []string{"", "spin"} {
		t.Run(runtime, func(t *testing.T) {
			t.Setenv(runtimeVariable, runtime)
			transfer32MB(t)
		})
	}
}

func transfer32MB(t *testing.T) {
	t.Helper()
	a, b := sockets(t)
	if _, ok := a.(*socket); !ok {
		t.Fatalf("a %T", a)
	}
	sent := bytes.Repeat([]byte("rackfab "), 4<<20)
	failed := make(chan error, 1)
	go func() {
		_, err := a.Write(sent)
		failed <- errors.Join(err, a.Close())
	}()
	got, err := io.ReadAll(b)
	if err := errors.Join(err, <-failed); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("received %d bytes that differ from the %d sent", len(got), len(sent))
	}
}

func TestSocketKeepsDeadlinesAndErrors(t *testing.T) {
	a, b := sockets(t)
	if err := a.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read past the deadline: %v", err)
	}
	if n, err := a.Read(nil); n != 0 || err != nil {
		t.Errorf("empty read: %d, %v", n, err)
	}
	_ = a.Close()
	if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read after the peer's close: %v", err)
	}
}

func TestOtherConnectionsAreNotWrapped(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if newSocket(a) != a {
		t.Error("a pipe was wrapped")
	}
	t.Setenv(runtimeVariable, "plain")
	if c, _ := sockets(t); c == nil {
		t.Error("no connection")
	} else if _, raw := c.(*socket); raw {
		t.Errorf("a socket was wrapped despite %s=plain", runtimeVariable)
	}
}
