package launch

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/spawn"
)

// busy keeps a link fully loaded during the whole run.
var busy = strings.NewReplacer("16KB", "endless", "100us", "20ms").Replace(pair)

func parse(t *testing.T, text string) *topology.Scenario {
	t.Helper()
	s, err := scenariofile.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts the processes of the scenario from this test's binary.
func start(t *testing.T, text string, log *bytes.Buffer) *Rack {
	t.Helper()
	o := Options{Groups: single(parse(t, text)), Env: childEnv}
	if log != nil {
		o.Log = log
	}
	r, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// started is the number of envelopes after which a run counts as started; busy has
// some thousands.
const started = 50

// duringRun calls do once when the rack's next run has started. It detects that by the
// envelopes that h1 receives, because the key of h1 permits no other subscription.
func duringRun(t *testing.T, r *Rack, do func()) {
	t.Helper()
	c, err := bus.DialAs(r.url, t.Name(), r.secrets("h1").Access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	seen := 0
	_, err = c.Subscribe(bus.InPattern("*", "h1"), func(string, []byte) {
		if seen++; seen == started {
			do()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
}

// digest returns the digest of a scenario in the lab.
func digest(t *testing.T, text string) uint64 {
	t.Helper()
	l, err := lab.New(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, text)
	l.Run(s.Duration)
	return combine(l)
}

// Groups of nodes in a process each have the digest of the lab, too.
func TestRunInGroups(t *testing.T) {
	for processes := 1; processes <= 2; processes++ {
		r, err := Start(t.Context(), Options{Groups: Groups(parse(t, busy), processes), Env: childEnv})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		report, err := r.Run(t.Context(), &controller.Request{RunId: "a", Scenario: []byte(busy), Quiet: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := digest(t, busy); report.Digest != want || report.Processes != processes || len(r.nodes) != processes {
			t.Errorf("%d processes: digest %016x, want %016x from %d of %d processes", processes, report.Digest, want, report.Processes, len(r.nodes))
		}
	}
}

// The same processes can take part in several runs, each with the digest of the lab.
// Close ends all processes without an error.
func TestRunAndClose(t *testing.T) {
	var log bytes.Buffer
	r := start(t, pair, &log)
	want := digest(t, pair)
	for _, id := range []string{"a", "b"} {
		report, err := r.Run(t.Context(), &controller.Request{RunId: id, Scenario: []byte(pair), Quiet: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if report.Digest != want {
			t.Errorf("run %s: digest %016x, want %016x", id, report.Digest, want)
		}
		for _, n := range report.Nodes {
			t.Logf("%s: %d bytes resident, %.3f s", n.Result.Node, n.GetMaxRssBytes(), n.Result.CPU)
		}
	}
	processes := r.all()
	r.Close()
	r.Close() // a second Close does nothing
	for _, p := range processes {
		<-p.Done()
		if state := p.State(); !state.Success() {
			t.Errorf("%s ended with %v: %v", p.Name(), state, p.Failure("").Tail)
		}
	}
	if !strings.Contains(log.String(), "h0: here is h0\n") {
		t.Errorf("the log lacks a node's line:\n%s", &log)
	}
	if _, err := r.Run(t.Context(), &controller.Request{RunId: "c", Scenario: []byte(pair)}, nil); err == nil {
		t.Error("ran on a closed rack")
	}
}

// Without recovery, a node that is killed ends the run with an error that contains its
// name, its exit state and the end of its log.
func TestKilledNodeEndsTheRun(t *testing.T) {
	r := start(t, busy, nil)
	victim := r.nodes["h1"].process()
	duringRun(t, r, func() { victim.Kill() })
	_, err := r.Run(t.Context(), &controller.Request{RunId: "r", Scenario: []byte(busy), Quiet: true}, nil)
	var ended *spawn.Error
	if !errors.As(err, &ended) {
		t.Fatalf("got %v", err)
	}
	if ended.Name != "h1" || ended.State != "signal: killed" || ended.PID != victim.PID() {
		t.Errorf("got %+v", ended)
	}
	if want := "h1| here is h1"; !strings.HasPrefix(err.Error(), "node h1 (process ") || !strings.Contains(err.Error(), want) {
		t.Errorf("got %q", err)
	}
}

// A bus that is killed during a run is restarted at its address, and the run ends with
// the digest of the lab.
func TestKilledBusComesBack(t *testing.T) {
	r := start(t, busy, nil)
	before := r.bus.process()
	duringRun(t, r, func() { before.Kill() })
	report, err := r.Run(t.Context(), &controller.Request{RunId: "r", Scenario: []byte(busy), Quiet: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.bus.process() == before {
		t.Fatal("the bus was not killed, or not started again")
	}
	if want := digest(t, busy); report.Digest != want {
		t.Errorf("digest %016x, want %016x", report.Digest, want)
	}
}

// The end of the context ends the run, and the rack can run another one.
func TestCancelledRun(t *testing.T) {
	r := start(t, busy, nil)
	ctx, cancel := context.WithCancel(t.Context())
	duringRun(t, r, cancel)
	_, err := r.Run(ctx, &controller.Request{RunId: "a", Scenario: []byte(busy), Quiet: true}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := r.Run(t.Context(), &controller.Request{RunId: "b", Scenario: []byte(pair), Quiet: true}, nil); err != nil {
		t.Fatal(err)
	}
}

// If a node does not start, the error contains its name and the end of its log, and no
// process is left behind.
func TestStartNamesBrokenNode(t *testing.T) {
	env := append([]string{"LAUNCH_TEST_BROKEN=h1"}, childEnv...)
	_, err := Start(t.Context(), Options{Groups: single(parse(t, pair)), Env: env})
	var ended *spawn.Error
	if !errors.As(err, &ended) || ended.Name != "h1" || ended.State != "exit status 1" {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "h1 is out of order") {
		t.Errorf("the log is missing: %v", err)
	}
}
