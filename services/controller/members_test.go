package controller

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// A node that announces an address which the controller cannot reach is named with the
// address, and so is one that announces the address of another process.
func TestUnreachableAnnouncedAddress(t *testing.T) {
	closed, err := net.Listen("tcp", serve.Loopback)
	if err != nil {
		t.Fatal(err)
	}
	nowhere := closed.Addr().String()
	_ = closed.Close()
	other, err := serve.ListenAs("", nil, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = other.Serve(t.Context()) }()
	for _, tt := range []struct{ address, want string }{
		{nowhere, "node h0: announces " + nowhere + ", which this machine cannot reach ("},
		{other.Address(), "node h0: announces " + other.Address() + ", where another process listens: use --advertise"},
	} {
		r := newRig(t, NodeLimit)
		r.fake(t, "h1", waiting)
		r.fake(t, "s0", waiting)
		stop, err := discovery.Announce(r.bus.Dial(), rackName, discovery.Hello{Name: "h0", Address: tt.address}, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		_, err = r.Run(t.Context(), &Request{RunId: "r", Scenario: []byte(pair)}, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "use --advertise") || serve.FailedNode(err) != "h0" {
			t.Errorf("%s: %v", tt.address, err)
		}
	}
}

// Only the absence of the process is blamed on its address.
func TestUnreachedKeepsOtherErrors(t *testing.T) {
	m := &member{address: "192.0.2.2:7000"}
	for _, err := range []error{
		status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: bad"`),
		status.Error(codes.Unavailable, "the node is stopping"),
		status.Error(codes.FailedPrecondition, "node h0 is in another run"),
	} {
		if got := m.unreached(err); got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
	}
}
