package e2e

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// TRUST-3: Racks of real processes under seeded faults have the digest of the lab; with RACKFAB_SLOW,
// 40 of them.
func TestRacksOfProcessesUnderFaults(t *testing.T) {
	t.Parallel()
	schedules := slowtest.Count(t, 2, 40, "schedules")
	out, err := exec.Command(program, "torture", "--kind", "processes", "--patience", "2m", "--schedules", strconv.Itoa(schedules)).CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), strconv.Itoa(schedules)+" schedules with equal digests") {
		t.Error(err)
	}
}
