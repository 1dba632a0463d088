package nodeservice

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/internal/discovery"
)

// dialBus starts a bus and returns a function that connects to it.
func dialBus(t *testing.T) func(name string) bus.Conn {
	t.Helper()
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return func(name string) bus.Conn {
		conn, err := bus.DialAs(server.URL(), name, bus.Access{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
}

// A process that listens on all addresses announces the one by which it reaches the bus,
// unless --advertise names another.
func TestAnnouncedAddress(t *testing.T) {
	for advertise, want := range map[string]string{"": "127.0.0.1", "h0.example": "h0.example"} {
		dial := dialBus(t)
		d, err := discovery.Watch(dial("controller"), "r")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(ctx, dial("h0"), Options{
				Name: "h0", Nodes: []topology.Node{{Name: "h0", Kind: topology.NIC}}, Rack: "r", Listen: "0.0.0.0:0", Advertise: advertise,
			})
		}()
		found, err := d.Wait(t.Context(), []string{"h0"})
		if err != nil {
			t.Fatal(err)
		}
		if host, port, err := net.SplitHostPort(found[0].Address); err != nil || host != want || port == "0" {
			t.Errorf("--advertise %q: announced %s", advertise, found[0].Address)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// cutOff is a connection to the bus that is lost for the first flushes.
type cutOff struct {
	bus.Conn
	flushes *int
}

func (c cutOff) Flush() error {
	if *c.flushes--; *c.flushes >= 0 {
		return io.EOF
	}
	return c.Conn.Flush()
}

// TRUST-13: A process whose connection to the bus is lost while it joins waits for the bus, and then joins.
// Without a time to wait, it ends.
func TestJoinWaitsForTheBus(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Hour} {
		m, flushes := bus.NewMemory(), 3
		d, err := discovery.Watch(m.Dial(), "r")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(ctx, cutOff{m.Dial(), &flushes}, Options{Name: "h0", Nodes: []topology.Node{{Name: "h0", Kind: topology.NIC}}, Rack: "r", Wait: wait})
		}()
		if wait > 0 {
			if _, err := d.Wait(t.Context(), []string{"h0"}); err != nil {
				t.Error(err)
			}
			cancel()
		}
		if err := <-ended; (err == nil) != (wait > 0) {
			t.Errorf("wait of %v: %v", wait, err)
		}
		cancel()
		d.Close()
	}
}

// The second process of a name ends with an error, and the first one stays until it
// withdraws.
func TestSecondProcessOfANameEnds(t *testing.T) {
	m := bus.NewMemory()
	d, err := discovery.Watch(m.Dial(), "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	h0, h1 := topology.Node{Name: "h0", Kind: topology.NIC}, topology.Node{Name: "h1", Kind: topology.NIC}
	go func() {
		ended <- Serve(ctx, m.Dial(), Options{Name: "h0", Nodes: []topology.Node{h0, h1}, Rack: "r"})
	}()
	first, err := d.Wait(t.Context(), []string{"h0", "h1"})
	if err != nil {
		t.Fatal(err)
	}
	err = Serve(t.Context(), m.Dial(), Options{Name: "h1", Nodes: []topology.Node{h1}, Rack: "r"})
	var refused *discovery.RefusedError
	if !errors.As(err, &refused) || refused.Refused.Name != "h1" || refused.Has != first[1] {
		t.Errorf("the second h1: %v, want one that names %v", err, first[1])
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the first process: %v", err)
	}
	if left := d.Nodes(); len(left) != 0 {
		t.Errorf("nodes after the end: %v", left)
	}
}
