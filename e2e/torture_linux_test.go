package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TRUST-3: Racks of real processes under seeded faults have the digest of the lab; with RACKFAB_SLOW,
// 40 of them.
func TestRacksOfProcessesUnderFaults(t *testing.T) {
	t.Parallel()
	schedules := 2
	if os.Getenv(runSlow) != "" {
		schedules = 40
	}
	out, err := exec.Command(program, "torture", "--kind", "processes", "--patience", "2m", "--schedules", strconv.Itoa(schedules)).CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), strconv.Itoa(schedules)+" schedules with equal digests") {
		t.Error(err)
	}
}
