package fabric_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// fuzzTarget matches what `make fuzz` runs.
var fuzzTarget = regexp.MustCompile(`(?m)^func Fuzz[A-Za-z0-9_]+\(`)

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
