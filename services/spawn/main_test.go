package spawn

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// roleVariable makes the test binary a child.
const roleVariable = "SPAWN_TEST_ROLE"

// childEnv makes the test binary a child. GORACE keeps a child under the race detector
// from waiting for a second before it ends.
var childEnv = []string{roleVariable + "=child", "GORACE=atexit_sleep_ms=0"}

// TestMain runs the tests, or one role in a child process.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		m.Run()
		return
	}
	if err := role(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // the main of the child
	}
}

// role is the task of a child.
func role(name string) error {
	ctx, _, err := Child(context.Background())
	if err != nil {
		return err
	}
	switch name {
	case "wait":
		<-ctx.Done()
		return nil
	case "stuck":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		<-make(chan struct{}) // ignores stop
	}
	return fmt.Errorf("no role %q", name)
}

// newSpawner returns a spawner of children of this test's binary.
func newSpawner(t *testing.T) *Spawner {
	t.Helper()
	s, err := New(Options{Env: childEnv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
