package e2e

import (
	"cmp"
	"os"
	"os/exec"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// TRUST-6: A live rack with bursts all the time does not grow. RACKFAB_SOAK is the wall time, 5m by default.
// A process fails if the confidence interval of its slope is above the limit. That is three times the limit
// of the command here, because other tests run beside it; flows that are kept take 10 MiB.
func TestSoak(t *testing.T) {
	slowtest.Skip(t, "takes five minutes")
	t.Parallel()
	long := cmp.Or(os.Getenv("RACKFAB_SOAK"), "5m")
	out, err := exec.Command(program, "soak", "pcn-16to2", "--for", long, "--every", "2s", "--processes", "3", "--most", "3").CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Fatal(err)
	}
}
