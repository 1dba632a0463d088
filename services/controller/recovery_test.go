package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
)

// mortal is a rig with processes of nodes that a test can end.
type mortal struct {
	*rig
	s    *topology.Scenario
	ends map[string]func() // by node: ends its process, and returns when it has ended
}

// newMortal starts a controller that recovers, and a process for each node of a scenario.
func newMortal(t *testing.T, s *topology.Scenario, o Options) *mortal {
	t.Helper()
	if o.Recover == 0 {
		o.Recover = NodeLimit
	}
	m := &mortal{rig: newRigWith(t, o), s: s, ends: map[string]func(){}}
	for _, n := range s.Nodes {
		m.begin(t, n)
	}
	return m
}

// begin starts the process of a node.
func (m *mortal) begin(t *testing.T, n topology.Node) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	background(t, func(test context.Context, w io.Writer) error {
		defer close(over)
		defer context.AfterFunc(test, end)()
		return nodeservice.Serve(ctx, m.bus.Dial(), nodeservice.Options{Name: n.Name, Nodes: []topology.Node{n}, Rack: rackName, Ready: w})
	})
	m.ends[n.Name] = func() { end(); <-over }
}

// restart ends the process of a node and starts it again.
func (m *mortal) restart(t *testing.T, i int) {
	t.Helper()
	m.ends[m.s.Nodes[i].Name]()
	m.begin(t, m.s.Nodes[i])
}

// killDuring restarts a node's process, and then that of another one, when the next run has
// begun: after some envelopes to a third one. The channel is closed after that.
func (m *mortal) killDuring(t *testing.T, victims ...int) <-chan struct{} {
	t.Helper()
	const begun = 20
	done, seen := make(chan struct{}), 0
	stop, err := m.bus.Dial().Subscribe(bus.InPattern("*", m.s.Nodes[2].Name), func(string, []byte) {
		if seen++; seen != begun {
			return
		}
		go func() {
			defer close(done)
			for _, v := range victims {
				m.restart(t, v)
			}
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return done
}

// A batch run that loses processes has the digest and notes of one that does not, and
// counts its recoveries.
func TestBatchRunRecovers(t *testing.T) {
	text, s := builtin(t, "star-3")
	s.Duration = 2 * unit.Millisecond
	m := newMortal(t, s, Options{})
	want, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "duration: ", "duration: 2ms # ", 1))
	killed := m.killDuring(t, 1, 0)
	report, err := m.Run(t.Context(), &Request{RunId: "r", Scenario: text, Quiet: true, NoteKinds: []string{"completed"}}, nil)
	<-killed
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Digest; report.Recoveries == 0 || fmt.Sprintf("%016x", got) != want.Digest {
		t.Errorf("digest %016x after %d recoveries, want %s", got, report.Recoveries, want.Digest)
	}
	noted := map[uint32]bool{}
	for _, n := range report.Nodes {
		for _, note := range n.Notes {
			if noted[uint32(note.Flow)] {
				t.Errorf("flow %d is noted twice", note.Flow)
			}
			noted[uint32(note.Flow)] = true
		}
	}
}

// A live run that loses random processes at random instants, between changes, has the
// digest of its journal. The seed is fixed.
func TestLiveRunRecovers(t *testing.T) {
	s := parse(t, []byte(looped))
	m := newMortal(t, s, Options{})
	m.startRack(t)
	draw, recoveries := rand.New(rand.NewPCG(1, 2)), 0
	changed := steering.New(s, 7)
	for range 3 {
		m.step(t, unit.Time(1+draw.IntN(100))*unit.Microsecond)
		if _, err := m.Change(t.Context(), changed.Change(0)); err != nil && status.Code(err) != codes.InvalidArgument {
			t.Fatal(err)
		}
		m.restart(t, draw.IntN(len(s.Nodes)))
		now := m.step(t, unit.Time(1+draw.IntN(100))*unit.Microsecond)
		if int(now.GetRecoveries()) <= recoveries || now.GetState() != rackfabv1.RackState_RACK_STATE_PAUSED {
			t.Fatalf("after a loss: %v", now)
		}
		recoveries = int(now.GetRecoveries())
		replayed(t, m.journal(t))
	}
}

// The status says what was lost while its process is missing, and the loss is final if
// nobody starts it again.
func TestLossIsFinalWithoutAProcess(t *testing.T) {
	s := parse(t, []byte(looped))
	m := newMortal(t, s, Options{Recover: 300 * time.Millisecond})
	m.startRack(t)
	m.step(t, unit.Microsecond)
	m.ends["s1"]()
	for {
		out, err := m.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		now := out.GetStatus()
		if now.GetState() == rackfabv1.RackState_RACK_STATE_RECOVERING && !strings.Contains(now.GetRecovering(), "node s1: ") {
			t.Errorf("recovers from %q", now.GetRecovering())
		}
		if now.GetState() == rackfabv1.RackState_RACK_STATE_FAILED {
			if !strings.Contains(now.GetFailure(), "did not come up: s1 within 300ms") || now.GetFailedNode() != "s1" {
				t.Errorf("failed: %s: %s", now.GetFailedNode(), now.GetFailure())
			}
			break
		}
	}
	_, err := m.API().Step(t.Context(), &rackfabv1.StepRequest{SpanPs: 1})
	if FailedNode(err) != "s1" {
		t.Errorf("a step after a final loss: %v", err)
	}
	replayed(t, m.journal(t))
}

// A fault that the run itself causes ends it after a few recoveries.
func TestFaultsOfTheRunEndIt(t *testing.T) {
	r := newRigWith(t, Options{Recover: NodeLimit})
	r.fake(t, "h0", waiting)
	r.fake(t, "h1", waiting)
	times := 0
	r.fake(t, "s0", func(_ *fake, s rackfabv1.NodeService_RunServer) error {
		times++
		return errors.Join(begin(s), errors.New("broken link"))
	})
	_, err := r.Run(t.Context(), &Request{RunId: "r", Scenario: []byte(pair)}, nil)
	if FailedNode(err) != "s0" || !strings.Contains(err.Error(), "broken link") || times != mostStuck+1 {
		t.Errorf("after %d attempts: %v", times, err)
	}
}

// The losses of a process count until the run comes further. Those of other processes do not: many
// can be lost together.
func TestLossesAreCountedByProcess(t *testing.T) {
	r := halted(t, 0)
	r.service.options.Recover = NodeLimit
	lose := func(process string, at unit.Time) (recovers bool) {
		r.failed = &member{name: process, failure: errors.New("killed")}
		recovers = r.mayRecover()
		r.recovery.begin(process, "killed", at)
		return recovers
	}
	for i := range 4 * mostStuck {
		if !lose(fmt.Sprint("h", i), 0) {
			t.Fatalf("the loss of process %d is final", i)
		}
	}
	for i := range mostStuck + 1 {
		if lose("s0", 0) != (i < mostStuck) {
			t.Errorf("loss %d of s0", i+1)
		}
	}
	if lose("s0", 1); !lose("s0", 1) {
		t.Error("a loss after progress is final")
	}
}

// granted answers grants with the digest that next returns, or fails.
func granted(next func() (uint64, error)) func(*fake, rackfabv1.NodeService_RunServer) error {
	return func(_ *fake, s rackfabv1.NodeService_RunServer) error {
		if err := begin(s); err != nil {
			return err
		}
		for {
			step, err := s.Recv()
			if err != nil || step.GetStop() != nil {
				return err
			}
			digest, err := next()
			if err != nil {
				return err
			}
			reached := &rackfabv1.RunReached{
				UntilPs: step.GetGrant().GetUntilPs(), Digest: digest, Stats: &rackfabv1.NodeStats{}, Progress: &rackfabv1.RunProgress{},
			}
			if err := s.Send(&rackfabv1.RunResponse{Event: &rackfabv1.RunResponse_Reached{Reached: reached}}); err != nil {
				return err
			}
		}
	}
}

// A recovery in which a node comes to another digest than before the loss fails the run.
func TestInexactRecoveryFails(t *testing.T) {
	r := newRigWith(t, Options{Recover: NodeLimit})
	grants := uint64(0)
	r.fake(t, "h0", granted(func() (uint64, error) {
		if grants++; grants == 2 {
			return 0, errors.New("lost")
		}
		return grants, nil
	}))
	same := func() (uint64, error) { return 7, nil }
	r.fake(t, "h1", granted(same))
	r.fake(t, "s0", granted(same))
	if _, err := r.API().StartRack(t.Context(), &rackfabv1.StartRackRequest{RunId: "r", Scenario: []byte(pair)}); err != nil {
		t.Fatal(err)
	}
	r.step(t, unit.Microsecond)
	now := r.step(t, unit.Microsecond)
	if want := "recovery is not exact: at 1us node h0 has digest 0000000000000003, and had 0000000000000001 before the loss"; now.GetFailure() != want {
		t.Errorf("got %v, want %s", now, want)
	}
	stopped(t, r)
}
