package measure

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// outageRun returns a run of 4 ms in bins of 50 us. F0 delivers 100 KB per bin, and half of it
// from 2 ms until the given instant; a link fails at 2 ms and returns at 3 ms. It is up at 1 ms, when
// a change takes it up once more.
func outageRun(t *testing.T, until unit.Time) *Run {
	t.Helper()
	s := rack()
	s.Duration, s.Flows, s.Bursts = 4*ms, s.Flows[:1], nil
	s.Changes = []topology.Change{
		{At: ms, Verb: topology.ChangeLinkUp}, {At: 2 * ms, Verb: topology.ChangeLinkDown}, {At: 3 * ms, Verb: topology.ChangeLinkUp},
	}
	var notes []fabric.Note
	for at := unit.Time(0); at < s.Duration; at += s.Bin {
		bytes := int64(100_000)
		if at >= 2*ms && at < until {
			bytes /= 2
		}
		notes = append(notes, note(at+us, fabric.Delivered, 0, bytes, 0))
	}
	return merged(t, s, map[int][]fabric.Note{2: notes})
}

// The goodput before the failure is 16 Gbit/s, the minimum 8. The recovery lasts until the goodput
// is at 95 % again.
func TestOutage(t *testing.T) {
	f := outageRun(t, 2400*us).Failure
	if f == nil || f.At != 2*ms || f.Before != 16*unit.GigabitPerSec || f.Least != 8*unit.GigabitPerSec || f.Recovery != 400*us {
		t.Fatalf("%+v", f)
	}
	if want := (8*8 + 12*16) * unit.GigabitPerSec / 20; f.During != want { // 8 of 20 bins have half
		t.Errorf("%s during the failure, want %s", f.During, want)
	}
}

// A run that ends before the recovery has a lower bound. A run without a dip recovers at once.
func TestOutageWithoutRecovery(t *testing.T) {
	run := outageRun(t, 4*ms)
	if f := run.Failure; f.Recovery != 2*ms || !FailureRecovery.Unreached(run) || FailureRecovery.Text(run) != ">2.00" {
		t.Errorf("%+v, %s", f, FailureRecovery.Text(run))
	}
	if run = outageRun(t, 3500*us); FailureRecovery.Text(run) != ">1.50" {
		t.Errorf("half a millisecond after the return: recovery %s", FailureRecovery.Text(run))
	}
	if run = outageRun(t, 0); run.Failure.Recovery != 0 || FailureRecovery.Unreached(run) {
		t.Errorf("%+v", run.Failure)
	}
}

// A run in which no link fails has no such figures.
func TestNoOutage(t *testing.T) {
	run := merged(t, rack(), nil)
	if run.Failure != nil || FailureBefore.Text(run) != "-" || Failing(rack()) {
		t.Errorf("%+v", run.Failure)
	}
}
