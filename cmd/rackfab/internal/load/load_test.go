package load

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/imports"
)

// A file of exactly the limit is read, one of a byte more is not, and neither is a stream.
func TestFilesAreLimited(t *testing.T) {
	const limit = 1000
	name := filepath.Join(t.TempDir(), "file")
	for n, want := range map[int]bool{0: true, limit: true, limit + 1: false} {
		text := strings.Repeat("x", n)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := atMost(f, limit)
		if _ = f.Close(); (err == nil) != want || want && string(data) != text {
			t.Errorf("a file of %d bytes: %d bytes, %v", n, len(data), err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = w.WriteString(text); _ = w.Close() }()
		data, err = atMost(r, limit)
		if _ = r.Close(); (err == nil) != want || want && string(data) != text {
			t.Errorf("a stream of %d bytes: %d bytes, %v", n, len(data), err)
		}
	}
}

// A folder in place of a file is refused, and the error says where the scenario of a run is.
func TestFolderIsNoScenario(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := File(nil, dir); err == nil || err.Error() != dir+": is a folder, want a file; a run's folder has its scenario in scenario.yaml" {
		t.Error(err)
	}
}

// Of a file above the limit nothing is read. The error is one line, which names the file
// and the limit.
func TestLargeFileIsNotRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, imports.MaxFile+1); err != nil { // without blocks on disk
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := File(nil, name)
	runtime.ReadMemStats(&after)
	if want := name + ": larger than 268435456 bytes, the most that is read"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}
