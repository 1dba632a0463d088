package identity

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files of any content in a member's folder are refused or loaded, and keys too.
func FuzzFiles(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "certs")
	if err := Make(dir, []string{"h0"}, nil, time.Unix(1_800_000_000, 0)); err != nil {
		f.Fatal(err)
	}
	var files [][]byte
	for _, name := range []string{leafFile, caFile, keyFile} {
		data, err := os.ReadFile(filepath.Join(dir, "h0", name))
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, data)
	}
	f.Add(files[0], files[1], files[2])
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, leaf, ca, key []byte) {
		for name, data := range map[string][]byte{leafFile: leaf, caFile: ca, keyFile: key} {
			if err := os.WriteFile(filepath.Join(home, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if who, err := load(home, time.Unix(1_800_000_000, 0)); err == nil && who.Server() == nil {
			t.Error("loaded without a certificate")
		}
		if k, err := ReadKey(filepath.Join(home, keyFile)); err == nil && k.IsZero() {
			t.Error("read without a key")
		}
	})
}
