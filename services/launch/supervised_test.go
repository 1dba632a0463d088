package launch

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackfab/rackfab/services/spawn"
)

// newSupervised returns a supervised process that ends immediately, its first instance,
// and the errors passed to its lost function.
func newSupervised(t *testing.T, log io.Writer) (s *supervised, first *spawn.Process, lost *[]error) {
	t.Helper()
	r, err := newRack(Options{Env: childEnv, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	lost = new([]error)
	s = &supervised{rack: r, command: spawn.Command{Name: "nothing", Role: "nothing"}, address: "nats://somewhere", lost: func(err error) { *lost = append(*lost, err) }}
	if first, err = s.spawn("somewhere"); err != nil {
		t.Fatal(err)
	}
	return s, first, lost
}

// TRUST-13: A process that cannot be restarted is given up after some attempts, with ever longer pauses
// between them. That is reported once, with the state in which the last one ended.
func TestSupervisedProcessIsAbandonedAfterRepeatedCrashes(t *testing.T) {
	var log bytes.Buffer
	s, p, lost := newSupervised(t, &log)
	var pauses []time.Duration
	s.rack.pause = func(d time.Duration) error { pauses = append(pauses, d); return nil }
	s.supervise(p)
	if ms := time.Millisecond; !slices.Equal(pauses, []time.Duration{0, 100 * ms, 200 * ms, 400 * ms, 800 * ms}) {
		t.Errorf("pauses before restarts: %v", pauses)
	}
	var ended *spawn.Error
	if len(*lost) != 1 || !errors.As((*lost)[0], &ended) || ended.State != "exit status 1" || ended.PID != s.process().PID() {
		t.Errorf("lost: %v", *lost)
	}
	again := "launch: nothing ended (exit status 1), restarting it at somewhere\n"
	if n := strings.Count(log.String(), again); n != maxRestarts {
		t.Errorf("restarted %d times, want %d:\n%s", n, maxRestarts, &log)
	}
}

// A process that ends with its rack is not reported as lost.
func TestSupervisedProcessEndsWithItsRack(t *testing.T) {
	s, p, lost := newSupervised(t, nil)
	s.rack.Close()
	s.supervise(p)
	if _, err := s.spawn("somewhere"); !errors.Is(err, errClosed) {
		t.Errorf("started on a closed rack: %v", err)
	}
	if len(*lost) != 0 {
		t.Errorf("lost: %v", *lost)
	}
}

// The end of the rack ends a pause before a restart.
func TestSupervisedProcessEndsWithItsRackInAPause(t *testing.T) {
	var log bytes.Buffer
	s, p, lost := newSupervised(t, &log)
	sleep := s.rack.pause
	s.rack.pause = func(time.Duration) error { s.rack.fail(errClosed); return sleep(time.Hour) }
	s.supervise(p)
	if len(*lost) != 0 || strings.Contains(log.String(), "restarting") {
		t.Errorf("lost: %v, log:\n%s", *lost, &log)
	}
}
