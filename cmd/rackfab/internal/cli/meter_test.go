package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Without a terminal, a meter writes what is announced, and a line per tenth of the work.
func TestMeterAnnouncesWhatComesFirst(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func(stderr *os.File) { os.Stderr = stderr }(os.Stderr)
	os.Stderr = file
	m := NewMeter(10 * unit.Millisecond)
	m.Announce("building 8352 nodes")
	m.Show(unit.Microsecond, 0, "less than a tenth")
	m.Finish()
	text, err := os.ReadFile(file.Name())
	if err != nil || string(text) != "building 8352 nodes\n" {
		t.Errorf("%q, %v", text, err)
	}
}
