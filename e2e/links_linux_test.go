package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/measure"
)

// guideFiles writes the guide's scenarios into a temporary folder and makes that the
// working directory. It returns the guide's commands.
func guideFiles(t *testing.T) (commands []string) {
	t.Helper()
	const guide = "../docs/guide/links.md"
	lossy, trunk := block(t, guide, "name: lossy", 1), block(t, guide, "name: trunk", 1)
	commands = typed(t, guide)
	t.Chdir(t.TempDir())
	for name, lines := range map[string][]string{"lossy.yaml": lossy, "trunk.yaml": trunk} {
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return commands
}

// The guide's commands have the documented effect, in its order: first the commands on
// files, with fewer repeats, then those on a running rack, whose journal reproduces the run's digest. The
// effect of a link on frames is independent of the bus: the digests in memory and over
// NATS are equal.
func TestLinksGuideCommands(t *testing.T) {
	slowtest.Skip(t, "runs every command of the guide about links")
	var live []string
	for _, line := range guideFiles(t) {
		if strings.Contains(line, "lossy") || strings.Contains(line, "sweep") {
			printed(t, unquoted(strings.Replace(line, "--repeat 10", "--repeat 2", 1))[1:]...)
		} else {
			live = append(live, line)
		}
	}
	r := up(t, "lossy.yaml", "--paused")
	for _, line := range live {
		r.do(t, unquoted(line)[1:]...)
		r.do(t, "step", "1ms")
	}
	if out := r.do(t, "stats", "s0..s1", "--format", "csv"); !above0(t, out, "lost_frames") || !above0(t, out, "damaged_frames") {
		t.Errorf("no frames were lost, or no frames were damaged:\n%s", out)
	}
	file := filepath.Join(t.TempDir(), "journal.yaml")
	r.do(t, "journal", "save", file)
	list := children(t, r.Process.Pid)
	r.interrupt(t)
	awaitExit(t, list)
	out, err := exec.Command(program, "replay", file, "--bus", "memory,nats").CombinedOutput()
	if err != nil {
		t.Errorf("replay: %v\n%s", err, out)
	}
	journal, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(journal), "s0--s1.loss=1e-3") {
		t.Errorf("%v; the journal is\n%s", err, journal)
	}
}

// above0 reports whether a CSV column contains a number above 0.
func above0(t *testing.T, text, column string) (some bool) {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(text), "\n")
	for i, name := range strings.Split(rows[0], ",") {
		for _, row := range rows[1:] {
			if n, err := strconv.Atoi(strings.Split(row, ",")[i]); name == column && err == nil && n > 0 {
				some = true
			}
		}
	}
	return some
}

// In a capture of every port, tshark finds as many damaged frames as the run counts.
func TestTsharkSeesDamagedFrames(t *testing.T) {
	guideFiles(t)
	tshark := installed(t, "apt-get install tshark", "tshark")
	printed(t, "capture", "--at", "h0..h1,r0", "--at", "s0..s1", "--scheme", "dcqcn", "-o", "all.pcapng", "lossy.yaml")
	var results measure.Results
	out := strings.Join(printed(t, "run", "lossy.yaml", "--scheme", "dcqcn", "--bus", "memory", "--json", "--output", "run"), "\n")
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	found, err := exec.Command(tshark, "-n", "-r", "all.pcapng", "-o", "eth.check_fcs:TRUE",
		"-Y", "frame.packet_flags_crc_error == 1 && eth.fcs.status == 0", "-T", "fields", "-e", "frame.number").Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(strings.Count(string(found), "\n")); n == 0 || n != results.Runs[0].LinkDamaged {
		t.Errorf("tshark finds %d damaged frames, the run counts %d", n, results.Runs[0].LinkDamaged)
	}
}
