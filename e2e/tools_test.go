package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// wantAll is the environment variable that makes tests fail instead of being skipped if
// a tool is missing.
const wantAll = "RACKFAB_CI"

// lacking skips a test that cannot run here, or fails it if wantAll is set.
func lacking(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(wantAll) != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// installed returns the path of a program by the first of its names that is on the
// PATH. The hint says how to install it.
func installed(t testing.TB, hint string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	lacking(t, "no %s on the PATH: %s", strings.Join(names, ", "), hint)
	return ""
}

// overNATS returns the flags of a run over NATS: in three processes, or with a process per node if
// slow tests run.
func overNATS() []string {
	flags := []string{"--bus", "nats"}
	if !slowtest.Enabled() {
		flags = append(flags, "--processes", "3")
	}
	return flags
}

// tool returns the path of a program that `make name` builds: the value of variable, or
// the program on the PATH.
func tool(t *testing.T, name, variable string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	return installed(t, "set "+variable+" to $(make -s "+name+")", name)
}
