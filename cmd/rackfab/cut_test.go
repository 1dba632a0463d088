package main

import (
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// fading is a controller whose streams send one event and then end only when the rack
// is taken down or the process dies.
type fading struct {
	rackfabv1.UnimplementedFabricServiceServer
	down chan struct{}
}

func (f fading) rest(ctx interface{ Done() <-chan struct{} }) error {
	select {
	case <-f.down:
		return status.Error(codes.FailedPrecondition, "no live rack")
	case <-ctx.Done():
		return nil
	}
}

func (f fading) Watch(_ *rackfabv1.WatchRequest, s rackfabv1.FabricService_WatchServer) error {
	_ = s.Send(&rackfabv1.WatchResponse{Status: &rackfabv1.RackStatus{Scenario: "star-2", AtPs: 7e6}})
	return f.rest(s.Context())
}

func (f fading) Capture(_ *rackfabv1.CaptureRequest, s rackfabv1.FabricService_CaptureServer) error {
	_ = s.Send(&rackfabv1.CaptureResponse{Event: &rackfabv1.CaptureResponse_Started{Started: &rackfabv1.CaptureStarted{
		Scenario: "star-2", Scheme: "pfc", FromPs: 5e6, Points: []*rackfabv1.CapturePoint{{Name: "s0:p0", Peer: "h0"}},
	}}})
	if err := f.rest(s.Context()); err == nil {
		return nil
	}
	return s.Send(&rackfabv1.CaptureResponse{Event: &rackfabv1.CaptureResponse_Ended{Ended: &rackfabv1.CaptureEnded{AtPs: 7e6}}})
}

// output is the output of a command. It calls first at the first write.
type output struct {
	strings.Builder
	mu    sync.Mutex
	first func()
}

func (s *output) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Len() == 0 {
		go s.first()
	}
	return s.Builder.Write(b)
}

// A command that watches a rack reports that the rack ended or the controller was lost,
// after the output up to then.
func TestInterruptedStreams(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		command, want, fault string
		dies                 bool
	}{
		{"watch", "the live run of star-2 ended after 7us\n", "", false},
		{"watch", "last event of star-2 at 7us\n", "connection to the controller at ADDRESS lost: ", true},
		{"capture --at s0 -o x.pcapng", "x.pcapng: 0 packets at 1 port until 7us, 0 lost; the live run ended\n", "", false},
		{"capture --at s0 --to 7us -o x.pcapng --overwrite", "x.pcapng: 0 packets at 1 port until 7us, 0 lost\n", "", false},
		{"capture --at s0 -o x.pcapng --overwrite", "x.pcapng: 0 packets at 1 port until 5us, 0 lost; incomplete\n", "connection to the controller at ADDRESS lost: ", true},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		rack, server := fading{down: make(chan struct{})}, grpc.NewServer()
		rackfabv1.RegisterFabricServiceServer(server, rack)
		go func() { _ = server.Serve(l) }() // until the server stops
		out := &output{first: func() {
			if tt.dies {
				server.Stop()
			} else {
				close(rack.down)
			}
		}}
		c := root()
		c.SetOut(out)
		c.SetErr(out)
		c.SetArgs(strings.Fields(tt.command + " --address " + l.Addr().String()))
		fault := ""
		if err := c.ExecuteContext(t.Context()); err != nil {
			fault = err.Error()
		}
		server.Stop()
		if want := strings.ReplaceAll(tt.fault, "ADDRESS", l.Addr().String()); !strings.Contains(out.String(), tt.want) || !strings.HasPrefix(fault, want) || (fault == "") != (want == "") {
			t.Errorf("%s: %q, in error %q; want %q, %q", tt.command, out, fault, tt.want, want)
		}
	}
	if is, err := os.Stat("x.pcapng"); err != nil || is.Size() == 0 {
		t.Errorf("the capture: %v, %v", is, err)
	}
}
