package broker

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// certs creates the certificates and keys of a rack with the node h0.
func certs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certs")
	if err := identity.Make(dir, []string{"h0"}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func who(t *testing.T, dir, member string) *identity.TLS {
	t.Helper()
	w, err := identity.Load(dir, member)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// start starts a bus that ends with the test, and returns its URL.
func start(t *testing.T, o Options) string {
	t.Helper()
	t.Setenv("GOMAXPROCS", "2") // the bus must not change this process's setting
	out, in := io.Pipe()
	o.Ready = in
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Main(ctx, o); _ = in.Close() }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the bus ended with %v", err)
		}
	})
	var ready serve.Ready
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return ready.Address
}

// free returns a loopback address with a port that was free.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// The servers of a cluster trust the certificate of the bus, and that of no other member
// of the rack.
func TestServersOfAClusterAreTheBus(t *testing.T) {
	dir, at := certs(t), free(t)
	users, err := identity.Users(dir, "rack", nil)
	if err != nil {
		t.Fatal(err)
	}
	urls := []string{
		start(t, Options{Users: users, TLS: who(t, dir, identity.Bus), Cluster: at}),
		start(t, Options{Users: users, TLS: who(t, dir, identity.Bus), Cluster: "127.0.0.1:0", Routes: []string{at}}),
	}
	var conns []bus.Conn
	for i, member := range []string{identity.Controller, "h0"} {
		key, err := identity.ReadKey(identity.KeyPath(dir, member))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := bus.DialAs(urls[i], member, bus.Access{Key: key, TLS: who(t, dir, member).Client("")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		conns = append(conns, conn)
	}
	got := make(chan string, 100)
	if _, err := conns[1].Subscribe(bus.QuerySubject("rack"), func(subject string, _ []byte) { got <- subject }); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond) // until the servers are connected
	defer tick.Stop()
	for len(got) == 0 {
		<-tick.C
		if err := conns[0].Publish(bus.QuerySubject("rack"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := pose(t, at, who(t, dir, "h0").Client(identity.Bus)); err == nil || !strings.Contains(err.Error(), "bad certificate") {
		t.Errorf("a server with the certificate of h0: %v, want a refusal", err)
	}
}

// pose connects to the address of a cluster as another server would, and returns the
// refusal, if there is one.
func pose(t *testing.T, address string, c *tls.Config) error {
	t.Helper()
	conn, err := tls.Dial("tcp", address, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Read(make([]byte, 1)) // the server verifies the certificate after the client's handshake
	return err
}
