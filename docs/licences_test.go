package docs_test

import (
	"bytes"
	stdcmp "cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/licensecheck"
)

var rewrite = flag.Bool("rewrite", false, "write licences.md")

// TRUST-11: docs/licences.md lists every module of the binary with its licence, and no other.
func TestLicencesAreListed(t *testing.T) {
	want, err := licencePage()
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile("licences.md", want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(want), read(t, "licences.md")); d != "" {
		t.Errorf("modules (-) and docs/licences.md (+): go test ./docs -run Licences -rewrite\n%s", d)
	}
	if n := strings.Count(string(want), "\n| `"); n < 40 {
		t.Errorf("only %d modules", n)
	}
}

// A module without a licence, or with one that is not permitted, is an error.
func TestUnknownLicencesAreErrors(t *testing.T) {
	gpl, err := os.ReadFile("testdata/gpl-notice.txt")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"All rights reserved.": "no known licence in its root",
		string(gpl):            "is not one of",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if names, err := licences(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, %v; want %s", text, names, err, want)
		}
	}
}

// permitted are the licences, by SPDX identifier, of modules that a binary may contain. None of them
// extends to rackfab's own files.
var permitted = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "FTL", "ISC", "MIT", "MPL-2.0", "OFL-1.1", "Unlicense"}

// chosen are the licences of modules whose own files leave a choice.
var chosen = map[string]string{
	"github.com/golang/freetype": "FTL", // or GPL-2.0; the texts are in its folder licenses
}

// systems are those that rackfab is built for; modules differ between them.
var systems = []string{"linux", "darwin", "windows"}

const licencesHead = `# Licences

The licences of all modules in the binary, on any system, as their own files say. ` + "`go test ./docs -run Licences -rewrite`" + ` writes this
page, and a test compares it with the modules. ` + "`rackfab version --sbom -`" + ` lists the modules of a binary with their checksums.

| module | version | licences |
| --- | --- | --- |
`

// module is a module of the binary. Dir has its files.
type module struct{ path, version, dir string }

// licencePage returns the text of docs/licences.md.
func licencePage() ([]byte, error) {
	list, err := modules()
	if err != nil {
		return nil, err
	}
	text, faults := bytes.NewBufferString(licencesHead), []error(nil)
	for _, m := range list {
		names, err := []string{chosen[m.path]}, error(nil)
		if names[0] == "" {
			names, err = licences(m.dir)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s %s: %w", m.path, m.version, err))
		}
		fmt.Fprintf(text, "| `%s` | %s | %s |\n", m.path, m.version, strings.Join(names, ", "))
	}
	return text.Bytes(), errors.Join(faults...)
}

// modules returns the modules that are linked into rackfab on any system, sorted.
func modules() (list []module, err error) {
	for _, system := range systems {
		c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "github.com/rackfab/rackfab/cmd/rackfab")
		c.Env, c.Stderr = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), os.Stderr
		out, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			if part := strings.SplitN(strings.TrimSpace(line), " ", 3); len(part) == 3 {
				list = append(list, module{part[0], part[1], part[2]})
			}
		}
	}
	slices.SortFunc(list, func(a, b module) int { return stdcmp.Compare(a.path, b.path) })
	return slices.Compact(list), nil
}

// licenceFile matches the names of files with the text of a licence.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)`)

// least is the share, in percent, of a licence's text that a file must have.
const least = 75

// licences returns the licences in the files of a module's root, sorted.
func licences(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if found := licensecheck.Scan(text); found.Percent >= least {
			for _, m := range found.Match {
				names = append(names, m.ID)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil, errors.New("no known licence in its root")
	}
	for _, n := range names {
		if !slices.Contains(permitted, n) {
			err = fmt.Errorf("licence %s is not one of %s", n, strings.Join(permitted, ", "))
		}
	}
	return names, err
}
