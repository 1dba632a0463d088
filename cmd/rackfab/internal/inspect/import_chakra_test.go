package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rackfab/rackfab/imports"
)

// All traces together have at most the size that can be imported.
func TestReadTraces(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, "t.0.et"), filepath.Join(dir, "t.1.et")}
	for _, name := range names {
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pattern := filepath.Join(dir, "t.*.et")
	files, err := readTraces(pattern)
	if err != nil || len(files) != 2 || files[1].Name != names[1] || string(files[1].Data) != names[1] {
		t.Errorf("%v, %v", files, err)
	}
	if err := os.Truncate(names[0], imports.MaxFile-int64(len(names[1]))+1); err != nil { // without data on disk
		t.Fatal(err)
	}
	want := fmt.Sprintf("--traces: the files have more than %d bytes together, the most that can be imported", imports.MaxFile)
	if _, err := readTraces(pattern); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
