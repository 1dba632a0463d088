package launch

import (
	"testing"

	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/spawn"
)

// A node, or the controller, that is killed during a run is started again, and the run ends
// with the digest of the lab and counts the recovery.
func TestKilledProcessComesBack(t *testing.T) {
	for name, of := range map[string]func(*Rack) *supervised{
		"node":       func(r *Rack) *supervised { return r.nodes["h1"] },
		"switch":     func(r *Rack) *supervised { return r.nodes["s0"] },
		"controller": func(r *Rack) *supervised { return r.controller },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Start(t.Context(), Options{Groups: single(parse(t, busy)), Env: childEnv, Recover: controller.NodeLimit})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Close)
			before := of(r).process()
			duringRun(t, r, before.Kill)
			report, err := r.Run(t.Context(), &controller.Request{RunId: "r", Scenario: []byte(busy), Quiet: true}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if of(r).process() == before {
				t.Fatal("it was not killed, or not started again")
			}
			if want := digest(t, busy); report.Digest != want || report.Recoveries != 1 {
				t.Errorf("digest %016x after %d recoveries, want %016x", report.Digest, report.Recoveries, want)
			}
		})
	}
}

// A process that cannot be started again ends the run with an error that names it.
func TestProcessThatStaysAway(t *testing.T) {
	r, err := Start(t.Context(), Options{Groups: single(parse(t, busy)), Env: childEnv, Recover: controller.NodeLimit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	h1 := r.nodes["h1"]
	h1.command.Role = "nothing" // fails at once
	victim := h1.process()
	duringRun(t, r, victim.Kill)
	_, err = r.Run(t.Context(), &controller.Request{RunId: "r", Scenario: []byte(busy), Quiet: true}, nil)
	ended := asEnded(t, err)
	if ended.Name != "h1" || ended.State != "exit status 1" {
		t.Errorf("got %+v", ended)
	}
}

func asEnded(t *testing.T, err error) *spawn.Error {
	t.Helper()
	ended, ok := err.(*spawn.Error) //nolint:errorlint // Run promises it
	if !ok {
		t.Fatalf("got %v", err)
	}
	return ended
}
