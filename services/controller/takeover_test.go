package controller

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// successor returns a controller that takes over from r, which it ends, and the status of
// the rack once it has recovered.
func successor(t *testing.T, r *rig, o Options) (*rig, *rackfabv1.RackStatus) {
	t.Helper()
	r.end()
	o.Resume, o.Recover = true, NodeLimit
	next := newRigOn(t, r.bus, o)
	return next, next.recovered(t)
}

// recovered waits until the rack has recovered, and returns its status.
func (r *rig) recovered(t *testing.T) *rackfabv1.RackStatus {
	t.Helper()
	for {
		out, err := r.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if now := out.GetStatus(); now.GetState() != rackfabv1.RackState_RACK_STATE_RECOVERING {
			return now
		}
	}
}

// A controller takes over the live run of one that has ended, at the instant, with the
// digest, the changes and the pace of the journal, and continues it.
func TestControllerTakesOver(t *testing.T) {
	o := Options{Journal: filepath.Join(t.TempDir(), "live.yaml"), Recover: NodeLimit}
	r := started(t, o)
	changed := steering.New(parse(t, []byte(looped)), 3)
	if _, err := r.API().SetPace(t.Context(), &rackfabv1.SetPaceRequest{PsPerSecond: 7e9}); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		r.step(t, 80*unit.Microsecond)
		for range 4 {
			_, _ = r.Change(t.Context(), changed.Change(0)) // some do not fit their instant
		}
		r.step(t, unit.Microsecond) // its end is in the journal, too
		before, err := r.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		next, now := successor(t, r, o)
		was := before.GetStatus()
		if now.GetAtPs() != was.GetAtPs() || now.GetDigest() != was.GetDigest() || now.GetChanges() != was.GetChanges() || now.GetPacePsPerSecond() != 7e9 {
			t.Fatalf("round %d: took over %v, was %v", round, now, was)
		}
		if now.GetRecoveries() != int32(round)+1 || now.GetState() != rackfabv1.RackState_RACK_STATE_PAUSED {
			t.Errorf("round %d: %v", round, now)
		}
		r = next
		r.step(t, 50*unit.Microsecond)
		replayed(t, r.journal(t))
	}
}

// A controller that has taken over a run has no statistics before the nodes have executed the run
// again, and says so.
func TestStatisticsDuringTakeover(t *testing.T) {
	o := Options{Journal: filepath.Join(t.TempDir(), "live.yaml"), Recover: NodeLimit}
	_, s := builtin(t, "star-3")
	m := newMortal(t, s, o)
	text, err := scenariofile.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.API().StartRack(t.Context(), &rackfabv1.StartRackRequest{RunId: "r", Scenario: text}); err != nil {
		t.Fatal(err)
	}
	m.step(t, 80*unit.Microsecond)
	want, err := m.API().GetStats(t.Context(), &rackfabv1.GetStatsRequest{Nodes: "h0"})
	if err != nil || len(want.GetNodes()) != 1 {
		t.Fatal(want, err)
	}
	m.end()
	m.ends["h0"]() // the next controller waits for it
	o.Resume = true
	next := newRigOn(t, m.bus, o)
	for _, nodes := range []string{"", "h0"} {
		out, err := next.API().GetStats(t.Context(), &rackfabv1.GetStatsRequest{Nodes: nodes})
		if status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "the rack recovers from a loss: the controller was started again" {
			t.Errorf("statistics of %q: %v, %v", nodes, out, err)
		}
	}
	m.begin(t, s.Nodes[0])
	next.recovered(t)
	out, err := next.API().GetStats(t.Context(), &rackfabv1.GetStatsRequest{Nodes: "h0"})
	if err != nil || out.GetAtPs() != want.GetAtPs() || out.GetNodes()[0].GetDeliveredBytes() != want.GetNodes()[0].GetDeliveredBytes() {
		t.Errorf("%v, %v, want %v", out, err, want)
	}
}

// A controller that has ended does not write its journal any more: another one may have it. The folder
// of a journal that is written cannot be removed.
func TestEndedControllerLeavesItsJournal(t *testing.T) {
	text, s := builtin(t, "star-2")
	for range 30 {
		t.Run("", func(t *testing.T) {
			m := newMortal(t, s, Options{Journal: filepath.Join(t.TempDir(), "live.yaml")})
			if _, err := m.API().StartRack(t.Context(), &rackfabv1.StartRackRequest{RunId: "r", Scenario: text}); err != nil {
				t.Fatal(err)
			}
			m.step(t, unit.Microsecond)
			m.ends["h0"]() // the journal is saved with the recovery
			m.end()
		})
	}
}

// A rack that has not stepped yet is taken over too, with its changes.
func TestTakeoverBeforeTheFirstStep(t *testing.T) {
	o := Options{Journal: filepath.Join(t.TempDir(), "live.yaml"), Recover: NodeLimit}
	r := started(t, o)
	for changes := range int32(2) {
		if _, err := r.API().Pause(t.Context(), &rackfabv1.PauseRequest{}); err != nil { // saves the journal
			t.Fatal(err)
		}
		next, now := successor(t, r, o)
		if now.GetAtPs() != 0 || now.GetChanges() != changes || now.GetState() != rackfabv1.RackState_RACK_STATE_PAUSED {
			t.Fatalf("took over %v", now)
		}
		r = next
		if _, err := r.Change(t.Context(), topology.Change{Verb: topology.ChangeLinkDown, Link: "s0--s1"}); err != nil && changes == 0 {
			t.Fatal(err)
		}
	}
	r.step(t, 50*unit.Microsecond)
	replayed(t, r.journal(t))
}

// A run that runs goes on, and one that a client has stopped is left alone.
func TestTakeoverOfRunningAndStopped(t *testing.T) {
	o := Options{Journal: filepath.Join(t.TempDir(), "live.yaml"), Recover: NodeLimit}
	r := started(t, o)
	r.step(t, unit.Microsecond)
	if _, err := r.API().Resume(t.Context(), &rackfabv1.ResumeRequest{}); err != nil {
		t.Fatal(err)
	}
	r, now := successor(t, r, o)
	if now.GetState() != rackfabv1.RackState_RACK_STATE_RUNNING {
		t.Errorf("took over %v, want it running", now)
	}
	stopped(t, r).end()
	o.Resume = true
	next := newRigOn(t, r.bus, o)
	if _, err := next.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{}); err == nil || !strings.Contains(err.Error(), "no live rack") {
		t.Errorf("took over a run that was stopped: %v", err)
	}
}

// A journal whose digest is not that of its run is not continued.
func TestTakeoverChecksTheDigest(t *testing.T) {
	o := Options{Journal: filepath.Join(t.TempDir(), "live.yaml"), Recover: NodeLimit}
	r := started(t, o)
	r.step(t, 80*unit.Microsecond)
	if _, err := r.API().Pause(t.Context(), &rackfabv1.PauseRequest{}); err != nil {
		t.Fatal(err)
	}
	r.end()
	text, err := os.ReadFile(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	first = first[:len(first)-16] + "0123456789abcdef"
	if err := os.WriteFile(o.Journal, []byte(first+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, now := successor(t, r, o)
	if now.GetState() != rackfabv1.RackState_RACK_STATE_FAILED || !strings.Contains(now.GetFailure(), "and had 0123456789abcdef before the loss") {
		t.Errorf("took over %v", now)
	}
}

// While a controller has a journal, another one does not start with it, and the journal keeps its name.
func TestJournalHasOneController(t *testing.T) {
	o := Options{Journal: filepath.Join(t.TempDir(), "live.yaml")}
	r := started(t, o)
	r.step(t, unit.Microsecond)
	before, err := os.ReadFile(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), r.bus.Dial(), o); !errors.Is(err, disk.ErrClaimed) || !strings.Contains(err.Error(), o.Journal+": another live rack writes this file") {
		t.Errorf("a second controller: %v", err)
	}
	if after, err := os.ReadFile(o.Journal); err != nil || string(after) != string(before) {
		t.Errorf("the journal has changed: %v", err)
	}
	r.end()
	claim, err := ClaimJournal(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Release(); err != nil {
		t.Error(err)
	}
}
