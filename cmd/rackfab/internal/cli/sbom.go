package cli

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"strings"
)

// bom is a bill of materials in CycloneDX 1.6, with the fields that the build of a binary
// knows. The documents of equal binaries are equal.
type bom struct {
	Format     string `json:"bomFormat"`
	Version    string `json:"specVersion"`
	Edition    int    `json:"version"`
	Metadata   about  `json:"metadata"`
	Components []part `json:"components"`
}

// about describes the binary.
type about struct {
	Component part `json:"component"`
}

// part is a module.
type part struct {
	Kind    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"`
	Hashes  []sum  `json:"hashes,omitempty"`
}

// sum is the checksum of a module.
type sum struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // hexadecimal
}

// writeBOM writes the modules that are linked into a binary of a version, and the standard
// library.
func writeBOM(w io.Writer, version string, info *debug.BuildInfo) error {
	main := info.Main
	main.Version = version
	out := bom{Format: "CycloneDX", Version: "1.6", Edition: 1, Metadata: about{partOf("application", &main)}}
	out.Components = append(out.Components, partOf("library", &debug.Module{Path: "std", Version: info.GoVersion}))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		out.Components = append(out.Components, partOf("library", m))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// partOf describes a module. Its checksum is that of go.sum: "h1:" and SHA-256 in base64.
func partOf(kind string, m *debug.Module) part {
	p := part{Kind: kind, Name: m.Path, Version: m.Version, URL: "pkg:golang/" + m.Path + "@" + m.Version}
	if digits, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(digits) > 0 {
		p.Hashes = []sum{{"SHA-256", hex.EncodeToString(digits)}}
	}
	return p
}

var errNoBuildInfo = errors.New("--sbom: this binary was built without modules")
