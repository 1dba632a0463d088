package inspect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/tap"
)

// A capture that the disk does not take leaves the older file, and no other.
func TestFailedCapture(t *testing.T) {
	dir := t.TempDir()
	f := captureFlags{}
	f.output.Name = filepath.Join(dir, "a.pcapng")
	f.file.Limit = 1 << 20
	if err := os.WriteFile(f.output.Name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, _ := scenariofile.Builtin("star-2")
	s, err := scenariofile.Parse("star-2", text)
	if err != nil {
		t.Fatal(err)
	}
	points, err := tap.Points(s, []string{"s0"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := newCaptureFile(&cobra.Command{}, &f, s, points)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.file.File.Close(); err != nil { // further writes fail
		t.Fatal(err)
	}
	if err := out.end(&cobra.Command{}, 0, ""); err == nil {
		t.Error("no error")
	}
	files, err := os.ReadDir(dir)
	if text, unread := os.ReadFile(f.output.Name); err != nil || unread != nil || len(files) != 1 || string(text) != "old" {
		t.Errorf("%v, %q, %v, %v", files, text, err, unread)
	}
}
