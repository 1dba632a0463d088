package serve

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// web serves an empty page with the limits of HTTP.
func web(t *testing.T) (address string) {
	t.Helper()
	l, err := Open(Loopback, false)
	if err != nil {
		t.Fatal(err)
	}
	server := HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// A header of the limit is accepted. net/http grants another 4 KiB, and refuses what is
// above with 431.
func TestLimitOfHTTPHeaders(t *testing.T) {
	address := web(t)
	for n, want := range map[int]int{MaxHeader: http.StatusOK, MaxHeader + 4096: http.StatusRequestHeaderFieldsTooLarge} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		const first, last = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ", "\r\n\r\n"
		go func() { _, _ = fmt.Fprint(conn, first, strings.Repeat("x", n-len(first)-len(last)+1), last) }()
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _ = r.Body.Close(); r.StatusCode != want {
			t.Errorf("a header of %d bytes: %s, want %d", n+1, r.Status, want)
		}
		_ = conn.Close()
	}
}

// Every server has limits in time, so that silent and slow clients hold nothing for ever.
func TestHTTPHasLimits(t *testing.T) {
	if s := HTTP(nil); s.ReadHeaderTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes != MaxHeader || s.ErrorLog == nil {
		t.Errorf("%+v", s)
	}
}

// A listener has at most maxConnections connections. The next one is accepted when
// another one has ended.
func TestConnectionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limited(crowd{})
		var conns []net.Conn
		accept := func() {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
			}
			conns = append(conns, conn)
		}
		for range maxConnections {
			accept()
		}
		go accept()
		synctest.Wait()
		if n := len(conns); n != maxConnections {
			t.Errorf("%d connections", n)
		}
		_ = conns[0].Close()
		synctest.Wait()
		if n := len(conns); n != maxConnections+1 {
			t.Errorf("%d connections after the end of one", n)
		}
	})
}

// crowd is a listener that accepts crowd number of connections.
type crowd struct{ net.Listener }

func (crowd) Accept() (net.Conn, error) { return silent{}, nil }

type silent struct{ net.Conn }

func (silent) Close() error { return nil }
