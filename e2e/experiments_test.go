package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// The experiments of the source documents have the same tables and digests over NATS as
// in memory, byte for byte.
func TestExperimentsOverNATSMatchMemory(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]struct {
		flags []string
		file  string
	}{
		"fig5":          {[]string{"--duration", "200us"}, "fig5.json"},
		"ceth-reaction": {[]string{"--duration", "36us"}, "reaction.json"},
		"rttx-example":  {nil, "rttx-example.json"},
		"rttx-compare":  {[]string{"--duration", "5100us"}, "rttx-compare.json"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "rttx-compare" || name == "fig5" {
				slowtest.Skip(t, "runs up to ten racks on both buses")
			}
			memory := experiment(t, name, e.file, append(e.flags, "--bus", "memory")...)
			nats := experiment(t, name, e.file, e.flags...) // NATS is the default
			if diff := cmp.Diff(memory["memory"], nats["nats"]); diff != "" || memory["memory"] == "" {
				t.Errorf("(-memory +nats) %d bytes:\n%s", len(memory["memory"]), diff)
			}
		})
	}
}

var (
	busLine = regexp.MustCompile(`"bus": "([a-z]+)"`)
	digest  = regexp.MustCompile(`"digest[a-z_]*": ("[0-9a-f]{16}"|\[)`)
)

// experiment runs an experiment. It returns the output file without the bus, keyed by
// the bus that the file names.
func experiment(t *testing.T, name, file string, flags ...string) map[string]string {
	t.Helper()
	r := start(t, append([]string{name}, flags...)...)
	if log, err := r.end(); err != nil {
		t.Fatal(log, err)
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "out", file))
	if err != nil {
		t.Fatal(err)
	}
	if !digest.Match(text) {
		t.Errorf("%s contains no digest", file)
	}
	bus := busLine.FindSubmatch(text)
	if bus == nil {
		t.Fatalf("%s names no bus", file)
	}
	return map[string]string{string(bus[1]): busLine.ReplaceAllString(string(text), "")}
}

// Receiver credit, without and with AIMD, is the same with a process per node.
func TestCreditOverNATSMatchesMemory(t *testing.T) {
	t.Parallel()
	flags := []string{"cbrc-waste", "--scheme", "cbrc,cbrc-aimd", "--duration", "1ms"}
	memory := digests(start(t, append(flags, "--bus", "memory")...).results(t))
	nats := digests(start(t, append(flags, overNATS()...)...).results(t))
	if diff := cmp.Diff(memory, nats); diff != "" || len(memory) != 2 || memory["cbrc"] == memory["cbrc-aimd"] {
		t.Errorf("%v; digests differ (-memory +nats):\n%s", memory, diff)
	}
}
