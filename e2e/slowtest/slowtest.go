// Package slowtest divides the tests in two: `go test ./...` runs the quick half on any machine within
// Go's limit of ten minutes per package, and RACKFAB_SLOW=1 adds the slow half, as CI does. A test is
// slow if it takes more than about 10 s of CPU time, or repeats with other racks, faults or
// seeds what a quick test covers. `go test -v` names what was left out.
package slowtest

import (
	"os"
	"testing"
)

// Variable is the environment variable that runs the slow tests too, unless it is empty.
const Variable = "RACKFAB_SLOW"

// Enabled reports whether slow tests run.
func Enabled() bool { return os.Getenv(Variable) != "" }

// Skip skips a slow test unless Enabled. does says what the test does: "runs 20 variants".
func Skip(t testing.TB, does string) {
	t.Helper()
	if !Enabled() {
		t.Skipf("%s: set %s=1", does, Variable)
	}
}

// Count returns how many of the things that a test repeats, such as "seeds", it should run: all if
// Enabled, otherwise quick.
func Count[N ~int | ~uint64](t testing.TB, quick, all N, things string) N {
	t.Helper()
	if Enabled() {
		return all
	}
	t.Logf("%d of %d %s: set %s=1 for all", quick, all, things, Variable)
	return quick
}

// First returns what a test repeats as Count does: all if Enabled, otherwise the first quick of them.
func First[S ~[]E, E any](t testing.TB, quick int, all S, things string) S {
	t.Helper()
	return all[:Count(t, quick, len(all), things)]
}
