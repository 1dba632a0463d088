package cli

import (
	"bytes"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
)

// TRUST-11: The bill of materials of a binary lists its modules with versions and checksums, a
// replaced module by its replacement, and the standard library.
func TestBillOfMaterials(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.7", Main: debug.Module{Path: "github.com/rackfab/rackfab"}, Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v1.2.3", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
	}}
	var text bytes.Buffer
	if err := writeBOM(&text, "v7", info); err != nil {
		t.Fatal(err)
	}
	var got bom
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got.Components {
		names = append(names, p.URL)
	}
	if want := "pkg:golang/std@go1.26.7 pkg:golang/example.org/a@v1.2.3 pkg:golang/example.org/c@v2.0.0"; strings.Join(names, " ") != want {
		t.Errorf("%v, want %s", names, want)
	}
	if h := got.Components[1].Hashes; len(h) != 1 || h[0].Content != "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" {
		t.Errorf("checksum %v", h)
	}
	if got.Format != "CycloneDX" || got.Version != "1.6" || got.Metadata.Component.URL != "pkg:golang/github.com/rackfab/rackfab@v7" {
		t.Errorf("%+v", got)
	}
}
