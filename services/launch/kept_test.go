package launch

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// keeping returns a kept process that ends immediately, its first instance, and the
// errors passed to its lost function.
func keeping(t *testing.T, log io.Writer) (k *kept, first *process, told *[]error) {
	t.Helper()
	r, err := newRack(Options{Env: childEnv, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	told = new([]error)
	k = &kept{rack: r, as: child{name: "nothing"}, address: "nats://somewhere", lost: func(err error) { *told = append(*told, err) }}
	if first, err = k.spawn("somewhere"); err != nil {
		t.Fatal(err)
	}
	return k, first, told
}

// A process that cannot be restarted is given up after some attempts. That is reported
// once, with the state in which the last one ended.
func TestKeptIsGivenUp(t *testing.T) {
	var log bytes.Buffer
	k, p, told := keeping(t, &log)
	k.keep(p)
	var ended *ProcessError
	if len(*told) != 1 || !errors.As((*told)[0], &ended) || ended.State != "exit status 1" || ended.PID != k.now().cmd.Process.Pid {
		t.Errorf("told %v", *told)
	}
	again := "launch: nothing ended (exit status 1), starting it again at somewhere\n"
	if n := strings.Count(log.String(), again); n != restarts {
		t.Errorf("started again %d times, want %d:\n%s", n, restarts, &log)
	}
}

// A process that ends with its rack is not reported as lost.
func TestKeptEndsWithItsRack(t *testing.T) {
	k, p, told := keeping(t, nil)
	k.rack.Close()
	k.keep(p)
	if _, err := k.spawn("somewhere"); !errors.Is(err, errClosed) {
		t.Errorf("started on a closed rack: %v", err)
	}
	if len(*told) != 0 {
		t.Errorf("told %v", *told)
	}
}
