package e2e

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// TRUST-13: A process that is killed while it is cut off from the bus joins again when the bus is back.
// The seeds are of schedules that ended so before processes waited for the bus.
func TestProcessKilledWhileCutOff(t *testing.T) {
	t.Parallel()
	for _, seed := range slowtest.First(t, 1, []string{"880053", "881051", "883069"}, "schedules") {
		if out, err := exec.Command(program, "torture", "--kind", "processes", "--patience", "2m", "--seed", seed, "--schedules", "1").CombinedOutput(); err != nil {
			t.Errorf("seed %s: %v\n%s", seed, err, out)
		}
	}
}

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
