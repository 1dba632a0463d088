package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// VersionCommand returns the command that prints the versions of the program, and the
// modules that it consists of.
func VersionCommand() *cobra.Command {
	var sbom Output
	c := &cobra.Command{
		Use:     "version",
		Example: "rackfab version --sbom rackfab.cdx.json",
		Short:   "Print the versions of rackfab and of Go, or the modules of the binary",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if sbom.Name != "" {
				info, ok := debug.ReadBuildInfo()
				if !ok {
					return errNoBuildInfo
				}
				return sbom.Write(c, func(w io.Writer) error { return writeBOM(w, Version(), info) })
			}
			line, err := Versions()
			if err = errors.Join(err, Unused(c, "requires --sbom", "overwrite")); err == nil {
				_, err = fmt.Fprintln(c.OutOrStdout(), line)
			}
			return err
		},
	}
	c.Flags().StringVar(&sbom.Name, "sbom", "", "write the modules of the binary to this file as a bill of materials, CycloneDX 1.6; - for standard output")
	OverwriteFlag(c, &sbom.Overwrite)
	return c
}

// Versions returns the versions of rackfab and of Go in a line. A version that does not identify the
// source is followed by the first digits of a hash of the binary.
func Versions() (string, error) {
	line := "rackfab " + Version()
	if !identified() {
		sum, err := binaryHash()
		if err != nil {
			return "", err
		}
		line += " build " + sum[:12]
	}
	return line + " " + runtime.Version(), nil
}

// release is the version of a build without a checkout, such as that of the image: compose/Dockerfile
// sets it with -ldflags -X.
var release string

// changes is the version suffix of a build from modified files.
const changes = "+changes"

// Version returns the version that the build was given, or else the commit if it is from a checkout, or
// the module version.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = changes
		}
	}
	if revision == "" {
		return info.Main.Version
	}
	return revision + modified
}

// Build identifies binaries that may produce different outcomes. It returns the version
// and the architecture, on which the rounding of sums and products depends, with a hash of
// the binary if the version does not identify the source.
func Build() (string, error) {
	if identified() {
		return Version() + " " + runtime.GOARCH, nil
	}
	sum, err := binaryHash()
	return Version() + " " + sum, err
}

// identified reports whether Version identifies the source. A version that the build was given is what
// somebody typed.
func identified() bool {
	v := Version()
	return release == "" && v != "unknown" && v != "(devel)" && !strings.HasSuffix(v, changes)
}

// binaryHash returns a hash of the binary, in hexadecimal digits.
func binaryHash() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // the file was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
