package cli

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// VersionCommand returns the command that prints the versions of the program.
func VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Example: "rackfab version",
		Short:   "Print the versions of rackfab and of Go",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), Versions())
			return err
		},
	}
}

// Versions returns the versions of rackfab and of Go in a line.
func Versions() string { return "rackfab " + Version() + " " + runtime.Version() }

// changes is the version suffix of a build from modified files.
const changes = "+changes"

// Version returns the module version, or the commit if the build is from a checkout.
func Version() string {
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
	v := Version()
	if v != "unknown" && v != "(devel)" && !strings.HasSuffix(v, changes) {
		return v + " " + runtime.GOARCH, nil
	}
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
	return fmt.Sprintf("%s %x", v, sum.Sum(nil)), nil
}
