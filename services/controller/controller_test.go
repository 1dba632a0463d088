package controller

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

func parse(t *testing.T, text []byte) *topology.Scenario {
	t.Helper()
	s, err := scenariofile.Parse("test", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func builtin(t *testing.T, name string) ([]byte, *topology.Scenario) {
	t.Helper()
	text, ok := scenariofile.Builtin(name)
	if !ok {
		t.Fatalf("no scenario %s", name)
	}
	return text, parse(t, text)
}

// A run over gRPC and bus has the same digest and figures as in the lab, and the same
// nodes can take part in several runs.
func TestRunsMatchTheLab(t *testing.T) {
	_, s := builtin(t, "star-3")
	s.Duration = 300 * unit.Microsecond
	r := newRig(t, NodeLimit)
	r.nodes(t, s)
	for _, scheme := range []string{"pfc", "pcn", "pfc"} {
		s.Scheme = scheme
		text, err := scenariofile.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		want, err := lab.Measure(parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		report, err := r.Run(t.Context(), &Request{RunId: "same", Scenario: text, Quiet: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := measure.Merge(s, report.Results())
		if err != nil {
			t.Fatal(err)
		}
		if got.Digest != want.Digest || got.FrameHops != want.FrameHops || report.Progress.GetFrameHops() != want.FrameHops {
			t.Errorf("%s: digest %s with %d hops, want %s with %d", scheme, got.Digest, got.FrameHops, want.Digest, want.FrameHops)
		}
		if got.Flows[0].Goodput != want.Flows[0].Goodput || got.Tree != want.Tree || got.Loss != want.Loss {
			t.Errorf("%s: figures differ: %+v, want %+v", scheme, got, want)
		}
		if report.Progress.GetFabricTimePs() != int64(s.Duration) || report.Progress.GetEnvelopes() == 0 {
			t.Errorf("%s: progress at the end: %+v", scheme, report.Progress)
		}
	}
	nodes, err := r.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, n := range nodes {
		list = append(list, n.GetName()+" "+n.GetKind().String())
	}
	if want := "h0 NODE_KIND_NIC, h1 NODE_KIND_NIC, h2 NODE_KIND_NIC, r0 NODE_KIND_NIC, s0 NODE_KIND_SWITCH"; strings.Join(list, ", ") != want {
		t.Errorf("nodes %v, want %s", list, want)
	}
}

// Progress is the least fabric time and the sum of all hops.
func TestProgress(t *testing.T) {
	b, l := &batch{end: 100}, &members{}
	for _, at := range []int64{30, 20, 50} {
		l.all = append(l.all, &member{progress: &rackfabv1.RunProgress{FabricTimePs: at, FrameHops: at, Envelopes: 1}})
	}
	if p := b.progress(l); p.GetFabricTimePs() != 20 || p.GetFrameHops() != 100 || p.GetEnvelopes() != 3 {
		t.Errorf("got %v", p)
	}
	l.all = append(l.all, &member{}) // has not reported yet
	if p := b.progress(l); p.GetFabricTimePs() != 0 {
		t.Errorf("with a node that has not reported: %v", p)
	}
}

// audience is a client that keeps the progress that it receives.
type audience struct {
	rackfabv1.FabricService_RunScenarioServer
	times []int64
}

func (a *audience) Send(m *rackfabv1.RunScenarioResponse) error {
	a.times = append(a.times, m.GetProgress().GetFabricTimePs())
	return nil
}

// The reported progress never decreases, and reaches the end only at the end: nodes
// without a pending event may have a frame in flight between them.
func TestReportedProgressNeverDecreases(t *testing.T) {
	m, a := &member{}, &audience{}
	b := &batch{client: a, end: 100}
	for _, at := range []int64{10, 100, 7, 30} {
		m.progress = &rackfabv1.RunProgress{FabricTimePs: at}
		if err := b.show(&members{all: []*member{m}}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int64{10, 10, 10, 30}; !slices.Equal(a.times, want) {
		t.Errorf("shown %v, want %v", a.times, want)
	}
}

func TestClientSeesProgress(t *testing.T) {
	r := newRig(t, NodeLimit)
	seen := make(chan struct{})
	r.fake(t, "h0", good(50e6))
	r.fake(t, "h1", good(60e6))
	r.fake(t, "s0", func(f *fake, s rackfabv1.NodeService_RunServer) error {
		if err := begin(s); err != nil {
			return err
		}
		p := &rackfabv1.RunProgress{FabricTimePs: 40e6}
		if err := s.Send(&rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Progress{Progress: p}}); err != nil {
			return err
		}
		<-seen
		return errors.New("enough")
	})
	once := false
	_, err := r.Run(t.Context(), &Request{RunId: "r", Scenario: []byte(pair)}, func(p *Progress) {
		if p.GetFabricTimePs() == int64(40*unit.Microsecond) && p.GetFrameHops() == 40 && !once {
			once = true
			close(seen)
		}
	})
	if FailedNode(err) != "s0" || !strings.Contains(err.Error(), "enough") {
		t.Fatalf("got %v", err)
	}
}

// A node that is killed or fails ends the run with an error that names it, and all other
// nodes abandon the run.
func TestFailedNodeEndsTheRun(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*fake, rackfabv1.NodeService_RunServer) error
		text string
	}{
		"refuses": {func(_ *fake, s rackfabv1.NodeService_RunServer) error {
			return serve.Invalid("node", "no such node")
		}, "node s0: node: no such node"},
		"fails in the run": {func(_ *fake, s rackfabv1.NodeService_RunServer) error {
			return errors.Join(begin(s), errors.New("broken link"))
		}, "node s0: broken link"},
		"leaves": {func(_ *fake, s rackfabv1.NodeService_RunServer) error {
			return begin(s)
		}, "node s0: left the run before its end"},
		"dies": {func(f *fake, s rackfabv1.NodeService_RunServer) error {
			err := begin(s)
			go f.server.Stop() // closes all connections
			<-s.Context().Done()
			return err
		}, "node s0: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, NodeLimit)
			h0, h1 := r.fake(t, "h0", waiting), r.fake(t, "h1", waiting)
			r.fake(t, "s0", test.play)
			_, err := r.Run(t.Context(), &Request{RunId: "r", Scenario: []byte(pair)}, nil)
			if status.Code(err) != codes.Aborted || FailedNode(err) != "s0" || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("got %v", err)
			}
			// Before all are ready, a node may not even have been called.
			if name != "refuses" {
				<-h0.left
				<-h1.left
			}
			nodes, err := r.Nodes(t.Context())
			if err != nil || len(nodes) != 2 {
				t.Fatalf("a failed node is still listed: %v, %v", nodes, err)
			}
		})
	}
}

// The end of a client's call ends the run.
func TestCancelledCallEndsTheRun(t *testing.T) {
	r := newRig(t, NodeLimit)
	started := make(chan struct{})
	h0, h1 := r.fake(t, "h0", waiting), r.fake(t, "h1", waiting)
	r.fake(t, "s0", func(_ *fake, s rackfabv1.NodeService_RunServer) error {
		err := begin(s)
		close(started)
		<-s.Context().Done()
		return err
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx, &Request{RunId: "r", Scenario: []byte(pair)}, nil)
		ended <- err
	}()
	<-started
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Fatalf("got %v", err)
	}
	<-h0.left
	<-h1.left
}

func TestNamesMissingNodes(t *testing.T) {
	r := newRig(t, time.Millisecond)
	r.fake(t, "h1", good())
	_, err := r.Run(t.Context(), &Request{RunId: "r", Scenario: []byte(pair)}, nil)
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "nodes that did not come up: h0, s0") {
		t.Fatalf("got %v", err)
	}
}

func TestNamesNodesThatAreNotReady(t *testing.T) {
	r := newRig(t, 300*time.Millisecond)
	r.fake(t, "h0", waiting)
	for _, name := range []string{"h1", "s0"} {
		r.fake(t, name, func(_ *fake, s rackfabv1.NodeService_RunServer) error {
			<-s.Context().Done()
			return nil
		})
	}
	_, err := r.Run(t.Context(), &Request{RunId: "r", Scenario: []byte(pair)}, nil)
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "h1, s0") {
		t.Fatalf("got %v", err)
	}
}

// An invalid request is INVALID_ARGUMENT with every invalid field.
func TestRejectsInvalidRequests(t *testing.T) {
	r := newRig(t, NodeLimit)
	twice := strings.ReplaceAll(strings.ReplaceAll(pair, "16KB", "lots"), "100us", "long")
	for name, test := range map[string]struct {
		request *Request
		fields  []string
	}{
		"no id":        {&Request{Scenario: []byte(pair)}, []string{"run_id"}},
		"id with dot":  {&Request{RunId: "a.b", Scenario: []byte(pair)}, []string{"run_id"}},
		"long id":      {&Request{RunId: strings.Repeat("a", 65), Scenario: []byte(pair)}, []string{"run_id"}},
		"no scenario":  {&Request{RunId: "a"}, []string{"scenario"}},
		"two faults":   {&Request{RunId: "a", Scenario: []byte(twice)}, []string{"scenario.duration", "scenario.flows[0].size"}},
		"not even one": {&Request{RunId: "a", Scenario: []byte("\x00")}, []string{"scenario"}},
	} {
		_, err := r.Run(t.Context(), test.request, nil)
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v", name, err)
		}
		for _, field := range test.fields {
			if serve.Violations(err)[field] == "" {
				t.Errorf("%s: no fault at %s: %v", name, field, serve.Violations(err))
			}
		}
	}
}

// A scenario larger than the limit is refused, not truncated.
func TestRejectsHugeScenario(t *testing.T) {
	r := newRig(t, NodeLimit)
	huge := append([]byte(pair), bytes.Repeat([]byte("#\n"), serve.MaxRequest/2)...)
	if _, err := r.Run(t.Context(), &Request{RunId: "a", Scenario: huge}, nil); status.Code(err) != codes.ResourceExhausted {
		t.Fatalf("got %v", err)
	}
}

// A node that falls silent during the run, such as one whose process is frozen, ends
// the run with an error that names it. Nodes that send only heartbeats do not.
func TestSilentNodeEndsTheRun(t *testing.T) {
	r := newRigWith(t, Options{Silence: 3 * reportEvery})
	r.fake(t, "h0", waiting)
	alive := func(_ *fake, s rackfabv1.NodeService_RunServer) error {
		if err := begin(s); err != nil {
			return err
		}
		beat := time.NewTicker(reportEvery / 2)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				p := &rackfabv1.RunResponse_Progress{Progress: &rackfabv1.RunProgress{}}
				if err := s.Send(&rackfabv1.RunResponse{Event: p}); err != nil {
					return err
				}
			case <-s.Context().Done():
				return nil
			}
		}
	}
	r.fake(t, "h1", alive)
	r.fake(t, "s0", alive)
	_, err := r.Run(t.Context(), &Request{RunId: "r", Scenario: []byte(pair)}, nil)
	if FailedNode(err) != "h0" || !strings.Contains(err.Error(), "silent for more than 600ms") {
		t.Fatalf("got %v", err)
	}
}
