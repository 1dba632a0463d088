package labexport_test

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/labexport"
)

// unread is a codec that does not decode messages, because the collector is not tested
// here.
type unread struct{}

func (unread) Name() string                         { return "unread" }
func (unread) Marshal(any) (mem.BufferSlice, error) { return nil, nil }
func (unread) Unmarshal(mem.BufferSlice, any) error { return nil }

// serve starts a receiver that accepts everything and returns its address.
func serve(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(unread{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(nil); err != nil {
			return err
		}
		return stream.SendMsg(nil)
	}))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	tb.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	return l.Addr().String()
}

func paper(tb testing.TB, duration, scheme string) *topology.Scenario {
	tb.Helper()
	text, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.ParseWith("pcn-16to2", text, []topology.Setting{{Key: "duration", Value: duration}, {Key: "scheme", Value: scheme}})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// A run in memory exports everything, and its digest is the same as without export.
func TestExportsEverything(t *testing.T) {
	address := serve(t)
	var digests []string
	for _, tell := range []bool{false, true} {
		l, err := lab.New(paper(t, "1ms", "pcn"))
		if err != nil {
			t.Fatal(err)
		}
		if tell {
			exporter, err := labexport.Attach(l, address, nil, &rackfabv1.Telemetry{Run: "test", SampleRatio: 0.2, SampleFlows: "F1"})
			if err != nil {
				t.Fatal(err)
			}
			defer exporter.Close()
			l.Run(unit.Millisecond)
			exporter.Finish(unit.Millisecond)
			c := exporter.Counts()
			if c.GetMade() == 0 || c.GetMade() != c.GetSent() || c.GetPointsMade() == 0 || c.GetPointsMade() != c.GetPointsSent() || len(c.GetDropped())+len(c.GetPointsDropped()) > 0 {
				t.Errorf("exported %v", c)
			}
		}
		l.Run(unit.Millisecond)
		run, err := l.Outcome()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, run.Digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v", digests)
	}
}

func TestRejectsInvalidPattern(t *testing.T) {
	l, err := lab.New(paper(t, "1ms", "pfc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := labexport.Attach(l, "127.0.0.1:1", nil, &rackfabv1.Telemetry{SampleFlows: "F["}); err == nil || !strings.Contains(err.Error(), `"F["`) {
		t.Errorf("got %v", err)
	}
}
