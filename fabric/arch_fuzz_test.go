package fabric_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fuzzTarget matches the declaration of a fuzz target.
var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz[^a-z(]\w*)\(`)

// TRUST-7: Every package that parses bytes or text from outside has a fuzz target, and there are more than
// 15 of them.
func TestParsersHaveFuzzTargets(t *testing.T) {
	targets := 0
	for parser, what := range map[string]string{
		"bus": "envelopes, group messages", "fabric/frame": "frames", "fabric/nic": "received frames", "fabric/switching": "received frames",
		"fabric/scenariofile": "scenarios, settings, programs, templates", "fabric/unit": "quantities", "identity": "certificates and keys",
		"imports": "files of other simulators, captures", "report": "folders of runs", "services/collector": "calls, OTLP",
		"services/controller": "calls, journals", "services/internal/changes": "changes", "services/internal/discovery": "announcements",
		"services/internal/nodeservice": "configurations of nodes", "services/internal/prometheus": "queries", "services/page": "requests",
		"services/spawn": "secrets from the launcher", "sweep": "axes",
	} {
		paths, err := filepath.Glob(filepath.Join("..", parser, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found += len(fuzzTarget.FindAll(text, -1))
		}
		if found == 0 {
			t.Errorf("%s parses %s, and has no fuzz target", parser, what)
		}
		targets += found
	}
	if targets < 15 {
		t.Errorf("%d fuzz targets", targets)
	}
}

// TRUST-7: `make fuzz` runs every fuzz target of the repository once, each in its folder.
func TestMakeRunsEveryFuzzTarget(t *testing.T) {
	gnu, err := exec.LookPath("make")
	if err != nil {
		if os.Getenv("RACKFAB_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var want []string
	err = fs.WalkDir(os.DirFS(".."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("..", path))
		for _, m := range fuzzTarget.FindAllSubmatch(text, -1) {
			want = append(want, "20s ./"+filepath.Dir(path)+" "+string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), gnu, "-s", "--no-print-directory", "-C", "..", "fuzz", "FUZZ=echo", "FUZZTIME=20s").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	have := strings.Split(string(bytes.TrimSpace(out)), "\n")
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("make fuzz runs\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}
