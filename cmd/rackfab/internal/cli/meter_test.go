package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Without a terminal, a meter writes what is announced, and then lines of progress.
func TestMeterAnnouncesWhatComesFirst(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func(stderr *os.File) { os.Stderr = stderr }(os.Stderr)
	os.Stderr = file
	m := NewMeter(10 * unit.Millisecond)
	m.Announce("building 8352 nodes")
	m.Show(unit.Millisecond, 0, "the first progress")
	m.Show(2*unit.Millisecond, 0, "too early for another line")
	m.Finish()
	text, err := os.ReadFile(file.Name())
	if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != 3 || lines[0] != "building 8352 nodes" || !strings.HasPrefix(lines[1], " 10 %  the first progress") {
		t.Errorf("%q, %v", text, err)
	}
}

// Without a terminal there is a line at once and then every few seconds, with the share of the work, what runs and the time that is left.
func TestProgressLines(t *testing.T) {
	var p pace
	var due []time.Duration
	for at := time.Duration(0); at < 20*time.Second; at += time.Second {
		if p.due(at) {
			due = append(due, at)
		}
	}
	if len(due) != 4 || due[0] != 0 || due[3] != 3*LineEvery {
		t.Errorf("lines at %v", due)
	}
	for share, want := range map[float64]string{0.009: "pcn  0.30 M frame-hops/s", 0.25: "pcn  0.30 M frame-hops/s  30 s left"} {
		if got := description(share, 10*time.Second, 3_000_000, "pcn"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
