package launch

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

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

// A process that cannot be restarted is given up after some attempts. That is reported
// once, with the state in which the last one ended.
func TestSupervisedProcessIsAbandonedAfterRepeatedCrashes(t *testing.T) {
	var log bytes.Buffer
	s, p, lost := newSupervised(t, &log)
	s.supervise(p)
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
