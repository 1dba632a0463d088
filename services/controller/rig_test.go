package controller

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/nic"
	switchd "github.com/rackfab/rackfab/services/switch"
)

// rackName is the rack of all tests; each has a bus of its own.
const rackName = "r"

// pair is two hosts behind one switch, with one flow.
const pair = `
name: pair
seed: 1
duration: 100us
scheme: pfc
nics: {h0..h1: }
switches: {s0: }
links: [{endpoints: [h0..h1, s0], rate: 40Gbps, delay: 5us}]
flows: [{name: F0, from: h0, to: h1, size: 16KB}]
`

// rig is a controller on a bus in memory.
type rig struct {
	*Client
	bus *bus.Memory
	end func() // ends the controller
}

// newRig starts a controller that waits for its nodes for limit.
func newRig(t *testing.T, limit time.Duration) *rig {
	t.Helper()
	return newRigWith(t, Options{NodeLimit: limit})
}

// newRigWith starts a controller with options.
func newRigWith(t *testing.T, o Options) *rig {
	t.Helper()
	return newRigOn(t, bus.NewMemory(), o)
}

// newRigOn starts a controller with options on a bus.
func newRigOn(t *testing.T, m *bus.Memory, o Options) *rig {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	ready := background(t, func(test context.Context, w io.Writer) error {
		defer close(over)
		defer context.AfterFunc(test, end)()
		o.Rack, o.Ready = rackName, w
		return Serve(ctx, m.Dial(), o)
	})
	client, err := DialAs(ready.Address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &rig{client, m, func() { end(); <-over }}
}

// background runs a process's main until the end of the test and returns its
// announcement.
func background(t *testing.T, main func(context.Context, io.Writer) error) (ready serve.Ready) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := main(ctx, w)
		_ = w.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	return ready
}

// nodes starts real nodes for a scenario, each in a process of its own.
func (r *rig) nodes(t *testing.T, s *topology.Scenario) {
	t.Helper()
	for _, n := range s.Nodes {
		r.process(t, n)
	}
}

// process starts a process of real nodes, with the name of the first.
func (r *rig) process(t *testing.T, nodes ...topology.Node) {
	t.Helper()
	background(t, func(ctx context.Context, w io.Writer) error {
		return nodeservice.Serve(ctx, r.bus.Dial(), nodeservice.Options{
			Name: nodes[0].Name, Nodes: nodes, APIs: []nodeservice.API{nic.Register, switchd.Register}, Rack: rackName, Ready: w,
		})
	})
}

// fake is a node whose behaviour a test defines.
type fake struct {
	rackfabv1.UnimplementedNodeServiceServer
	server *serve.Server
	play   func(f *fake, stream rackfabv1.NodeService_RunServer) error
	left   chan struct{} // receives a token when a run's call has ended
}

func (f *fake) Run(stream rackfabv1.NodeService_RunServer) error {
	defer func() { f.left <- struct{}{} }()
	return f.play(f, stream)
}

// fake starts a fake node and announces it.
func (r *rig) fake(t *testing.T, name string, play func(*fake, rackfabv1.NodeService_RunServer) error) *fake {
	t.Helper()
	server, err := serve.ListenAs("", nil, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &fake{server: server, play: play, left: make(chan struct{}, 8)}
	rackfabv1.RegisterNodeServiceServer(server, f)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ctx) // returns an error when a test kills the node
	}()
	stop, err := discovery.Announce(r.bus.Dial(), rackName, discovery.Hello{Name: name, Address: server.Address()}, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		cancel()
		<-ended
	})
	return f
}

// good goes through a run without a fault and reports the given fabric times.
func good(times ...int64) func(*fake, rackfabv1.NodeService_RunServer) error {
	return func(_ *fake, s rackfabv1.NodeService_RunServer) error {
		if err := begin(s); err != nil {
			return err
		}
		for _, t := range times {
			p := &rackfabv1.RunProgress{FabricTimePs: t, FrameHops: 10, Envelopes: 1}
			if err := s.Send(&rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Progress{Progress: p}}); err != nil {
				return err
			}
		}
		end := &rackfabv1.RunFinished{
			Digest: 7, ResultJson: []byte(`{}`), Progress: &rackfabv1.RunProgress{FabricTimePs: 100e6, FrameHops: 20, Envelopes: 2},
		}
		if err := s.Send(&rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Finished{Finished: end}}); err != nil {
			return err
		}
		_, err := s.Recv() // stop
		return err
	}
}

// begin goes through config, ready and start.
func begin(s rackfabv1.NodeService_RunServer) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	if err := s.Send(&rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Ready{Ready: &rackfabv1.RunReady{}}}); err != nil {
		return err
	}
	_, err := s.Recv()
	return err
}

// waiting begins a run and never finishes it.
func waiting(_ *fake, s rackfabv1.NodeService_RunServer) error {
	if err := begin(s); err != nil {
		return err
	}
	_, err := s.Recv()
	return err
}
