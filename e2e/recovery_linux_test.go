package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/e2e/slowtest"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A run whose node and controller are killed has the digest of one that nothing happens to,
// and its results count the recoveries.
func TestRunRecoversFromKills(t *testing.T) {
	t.Parallel()
	want := start(t, "--bus", "memory", "--scheme", "pcn", "--duration", long).results(t)
	for _, victim := range slowtest.First(t, 1, []string{"s1", "h5", "controller"}, "victims") {
		t.Run(victim, func(t *testing.T) {
			r := start(t, "--bus", "nats", "--scheme", "pcn", "--duration", long)
			r.underWay(t)
			if err := syscall.Kill(find(t, children(t, r.Process.Pid), victim).pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			got := r.results(t)
			if diff := cmp.Diff(digests(want), digests(got)); diff != "" {
				t.Errorf("digests differ after the kill:\n%s", diff)
			}
			if n := got.Runs[0].Recoveries; n != 1 {
				t.Errorf("%d recoveries, want 1", n)
			}
		})
	}
}

// A live rack goes on after the kills of a node, a switch and the controller, with its
// changes, and its journal replays. The journal that the next controller continues is that
// of the earlier one.
func TestLiveRackRecoversFromKills(t *testing.T) {
	t.Parallel()
	r := up(t, "pcn-16to2", "--scheme", "pcn", "--paused", "--processes", "3")
	r.do(t, "step", "400us")
	for i, victim := range []string{"worker", "controller", "worker"} {
		r.do(t, "burst", "--from", "h2..h15", "--to", "r1", "--size", "16KB")
		r.do(t, "resume")
		if err := syscall.Kill(find(t, children(t, r.Process.Pid), victim).pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r.recovered(t, int32(i)+1)
		if said := r.do(t, "status"); !strings.Contains(said, "running at ") || !strings.Contains(said, fmt.Sprintf("recoveries: %d", i+1)) {
			t.Errorf("after loss %d: %s", i, said)
		}
		r.do(t, "pause")
	}
	if said := r.do(t, "status"); !strings.Contains(said, ", 3 changes, ") {
		t.Errorf("status: %s", said)
	}
	r.interrupt(t)
	if out, err := exec.Command(program, "replay", r.journal).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// recovered waits until the rack has recovered from a number of losses.
func (r *rack) recovered(t *testing.T, losses int32) {
	t.Helper()
	for {
		out, err := r.client.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{})
		if err != nil {
			continue // the controller is started again
		}
		switch now := out.GetStatus(); {
		case now.GetState() == rackfabv1.RackState_RACK_STATE_FAILED:
			t.Fatalf("failed: %v", now)
		case now.GetRecoveries() == losses && now.GetState() != rackfabv1.RackState_RACK_STATE_RECOVERING:
			return
		}
	}
}
