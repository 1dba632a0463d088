package nodeservice

import (
	"context"
	"net"
	"testing"

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
