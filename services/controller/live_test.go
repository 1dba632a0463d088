package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
)

// looped has two paths from one side to the other.
const looped = `
name: looped
duration: 3ms
scheme: dcqcn
defaults: {link: {rate: 40Gbps, delay: 1us}, nic: {timeout: 300us}, switch: {xoff: 60KB, headroom: 60KB}}
nics: {h0..h2: , r0: }
switches: {s0..s3: }
links:
  - endpoints: [h0..h2, s0]
  - endpoints: [s0, s1..s2]
  - endpoints: [s1..s2, s3]
  - endpoints: [r0, s3]
flows:
  - {name: F0, from: h0, to: r0, size: endless}
`

// programmed is looped with a program, a collective, and flows that wait; the last of them begin after more than 300us.
const programmed = looped + `  - {name: ask, from: h1, to: r0, size: 200KB}
  - {name: answer, from: r0, to: h1, size: 200KB, after: [ask]}
bursts:
  - {name: late, from: h0..h2, to: r0, size: 30KB, flows_per_sender: 2, after: [answer, wait]}
programs:
  h0: |
    send 300KB to h2
    wait: calc 300us
  h2: |
    r: receive from h0
    wait: calc 200us after r
    calc 1us after late
collectives:
  - {name: sum, kind: all-reduce, ranks: [h0, h1, h2, r0], size: 400KB, after: [answer, wait]}
`

// started returns a rig with real nodes in a live run.
func started(t *testing.T, o Options) *rig {
	t.Helper()
	return startedWith(t, o, looped)
}

// startedWith is started with another scenario.
func startedWith(t *testing.T, o Options, scenario string) *rig {
	t.Helper()
	r := newRigWith(t, o)
	r.nodes(t, parse(t, []byte(scenario)))
	r.startRackWith(t, scenario)
	return r
}

// startRack begins a live run.
func (r *rig) startRack(t *testing.T) {
	t.Helper()
	r.startRackWith(t, looped)
}

func (r *rig) startRackWith(t *testing.T, scenario string) {
	t.Helper()
	if _, err := r.API().StartRack(t.Context(), &rackfabv1.StartRackRequest{RunId: "live", Scenario: []byte(scenario)}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) step(t *testing.T, span unit.Time) *rackfabv1.RackStatus {
	t.Helper()
	out, err := r.API().Step(t.Context(), &rackfabv1.StepRequest{SpanPs: int64(span)})
	if err != nil {
		t.Fatal(err)
	}
	return out.GetStatus()
}

func (r *rig) journal(t *testing.T) *rackfabv1.Journal {
	t.Helper()
	out, err := r.API().GetJournal(t.Context(), &rackfabv1.GetJournalRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return out.GetJournal()
}

// replayed checks that the journal has its digest when it is replayed as a batch run.
func replayed(t *testing.T, j *rackfabv1.Journal) *measure.Run {
	t.Helper()
	run, err := lab.Measure(parse(t, j.GetScenario()))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%016x", j.GetDigest()); run.Digest != want {
		t.Errorf("replayed to %s: %s, live %s", unit.Time(j.GetAtPs()), run.Digest, want)
	}
	return run
}

// A live run with random changes, in steps of random length, replays to the same
// digest at every instant. The seeds are fixed.
func TestLiveRunReplays(t *testing.T) {
	replays(t, looped)
}

// PROG-5: So does one with programs and flows that wait.
func TestLiveProgramsReplay(t *testing.T) {
	replays(t, programmed)
}

func replays(t *testing.T, scenario string) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := startedWith(t, Options{NodeLimit: NodeLimit}, scenario)
			random := rand.New(rand.NewPCG(seed, 7))
			source := steering.New(parse(t, []byte(scenario)), seed)
			for made := 0; made < 60; {
				at := r.step(t, 1+unit.Time(random.Int64N(int64(40*unit.Microsecond))))
				if at.GetAtPs() != at.GetGrantedPs() {
					t.Fatalf("a step ended at %d of %d", at.GetAtPs(), at.GetGrantedPs())
				}
				for range random.IntN(4) {
					c := source.Change(0)
					request := &rackfabv1.ApplyRequest{Change: changes.Write(&c).GetChange()}
					if later := at.GetAtPs() + random.Int64N(int64(50*unit.Microsecond)); random.IntN(3) == 0 {
						request.AtPs = &later
					}
					out, err := r.API().Apply(t.Context(), request)
					switch {
					case status.Code(err) == codes.InvalidArgument: // it does not fit its instant
					case err != nil:
						t.Fatal(err)
					case request.AtPs == nil && out.GetChange().GetAtPs() != at.GetGrantedPs():
						t.Fatalf("a change at %d, the clock is at %d", out.GetChange().GetAtPs(), at.GetGrantedPs())
					default:
						made++
					}
				}
				if made%20 == 0 {
					replayed(t, r.journal(t))
				}
			}
			r.step(t, 200*unit.Microsecond)
			j := r.journal(t)
			if p := replayed(t, j).Programs; p != nil && p.Done < 5 {
				t.Errorf("%d of %d steps are done, want some that waited", p.Done, p.Steps)
			}
			report, err := stopped(t, r).Run(t.Context(), &Request{RunId: "again", Scenario: j.GetScenario(), Quiet: true}, nil)
			if err != nil || report.Digest != j.GetDigest() {
				t.Errorf("replayed over the bus: %v, %v, want %016x", report, err, j.GetDigest())
			}
		})
	}
}

func stopped(t *testing.T, r *rig) *rig {
	t.Helper()
	if _, err := r.API().StopRack(t.Context(), &rackfabv1.StopRackRequest{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// The clock runs by itself until it is paused, with a pace or without limit.
func TestClockRuns(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	for _, pace := range []int64{0, int64(5 * unit.Millisecond)} {
		if _, err := r.API().SetPace(t.Context(), &rackfabv1.SetPaceRequest{PsPerSecond: pace, Unlimited: pace == 0}); err != nil {
			t.Fatal(err)
		}
		out, err := r.API().Resume(t.Context(), &rackfabv1.ResumeRequest{})
		if err != nil || out.GetStatus().GetState() != rackfabv1.RackState_RACK_STATE_RUNNING {
			t.Fatal(out, err)
		}
		if _, err := r.API().Step(t.Context(), &rackfabv1.StepRequest{SpanPs: 1}); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a step of a running rack: %v", err)
		}
		watch, err := r.API().Watch(t.Context(), &rackfabv1.WatchRequest{EveryMs: 50})
		if err != nil {
			t.Fatal(err)
		}
		from := out.GetStatus().GetAtPs()
		for at := from; at <= from+int64(100*unit.Microsecond); {
			event, err := watch.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if at = event.GetStatus().GetAtPs(); at > from && len(event.GetNodes()) != 8 {
				t.Fatalf("%d nodes", len(event.GetNodes()))
			}
		}
		paused, err := r.API().Pause(t.Context(), &rackfabv1.PauseRequest{})
		if s := paused.GetStatus(); err != nil || s.GetState() != rackfabv1.RackState_RACK_STATE_PAUSED || s.GetAtPs() != s.GetGrantedPs() {
			t.Fatal(paused, err)
		}
		replayed(t, r.journal(t))
	}
}

// Existing journals at the path of a new run's journal are renamed, each to a new
// name. Non-regular files are left alone.
func TestEarlierJournalIsKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.b.yaml")
	if err := os.WriteFile(path, []byte(heading+": first"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := started(t, Options{NodeLimit: NodeLimit, Journal: path})
	r.step(t, 100*unit.Microsecond)
	stopped(t, r)
	if _, err := r.API().StartRack(t.Context(), &rackfabv1.StartRackRequest{RunId: "live", Scenario: []byte(looped)}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("journal exists before the first step: %v", err)
	}
	r.step(t, 200*unit.Microsecond)
	stopped(t, r)
	for name, want := range map[string]string{"a.b-1.yaml": "first", "a.b-2.yaml": "duration: 100us\n", "a.b.yaml": "duration: 200us\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, want %q: %v\n%s", name, want, err, text)
		}
	}
	if kept, err := KeepEarlier(os.DevNull); err != nil || kept != "" {
		t.Error(kept, err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Error(info, err)
	}
}

// A file that is no journal is neither replaced nor renamed; an empty file is filled.
func TestOtherFilesAreNoJournals(t *testing.T) {
	for text, want := range map[string]string{
		"name: mine\n":              "file already exists and is not a journal: choose another name",
		heading[:5]:                 "file already exists and is not a journal: choose another name",
		"":                          "",
		"duration: 1s # " + heading: "file already exists and is not a journal: choose another name",
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		kept, err := KeepEarlier(path)
		if is, _ := os.ReadFile(path); kept != "" || string(is) != text || (err == nil) != (want == "") || err != nil && err.Error() != path+": "+want {
			t.Errorf("%q: kept as %q, %v; now %q", text, kept, err, is)
		}
	}
}

// The journal is on disk after every change, and contains the digest of the instant
// at which it ends.
func TestJournalIsOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.yaml")
	r := started(t, Options{NodeLimit: NodeLimit, Journal: path})
	r.step(t, 100*unit.Microsecond)
	thaw := &rackfabv1.Change{Verb: &rackfabv1.Change_LinkDown{LinkDown: "s0--s1"}}
	if _, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: thaw}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	digest, ok := ReadDigest(text)
	if s := parse(t, text); !ok || len(s.Changes) != 1 || s.Duration != 100*unit.Microsecond {
		t.Fatalf("digest %v, %d changes, until %s", ok, len(s.Changes), s.Duration)
	}
	replayed(t, &rackfabv1.Journal{Scenario: text, AtPs: 1, Digest: digest})
	r.end()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("files left: %v, %v", files, err)
	}
}

// Changes before the first step are on disk when they are acknowledged. The file starts
// the same rack again.
func TestJournalBeforeTheFirstStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.yaml")
	r := started(t, Options{NodeLimit: NodeLimit, Journal: path})
	if _, err := r.API().GetJournal(t.Context(), &rackfabv1.GetJournalRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("the journal of a run without changes: %v", err)
	}
	for n, link := range []string{"s0--s1", "s0--s2"} {
		down := &rackfabv1.Change{Verb: &rackfabv1.Change_LinkDown{LinkDown: link}}
		if _, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: down}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if s := parse(t, text); len(s.Changes) != n+1 || s.Changes[n].Link != link || !Unstepped(text) {
			t.Fatalf("%d changes in the file after the change of %s:\n%s", len(s.Changes), link, text)
		}
	}
	before := r.journal(t)
	r.step(t, 20*unit.Microsecond)
	first := replayed(t, r.journal(t)).Digest
	stopped(t, r)
	r.startRackWith(t, string(before.GetScenario()))
	r.step(t, 20*unit.Microsecond)
	if again := replayed(t, r.journal(t)).Digest; again != first {
		t.Errorf("the file of the changes started a rack with digest %s, want %s", again, first)
	}
}
