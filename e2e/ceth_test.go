package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Runs with frames that grow in transit, ACKs that switches modify, and random marks are
// the same over NATS as in memory.
func TestCETHOverNATSMatchesMemory(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/ceth.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, source := range []string{"source: int, words: 4", "source: ioam, form: resv7", "source: switch, form: resv6"} {
		file := filepath.Join(t.TempDir(), "ceth.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), "{SOURCE", "{"+source, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		memory := digests(start(t, file, "--bus", "memory", "--scheme", "ceth").results(t))
		nats := digests(start(t, append(overNATS(), file, "--scheme", "ceth")...).results(t))
		if diff := cmp.Diff(memory, nats); diff != "" {
			t.Errorf("%s: digests differ (-memory +nats):\n%s", source, diff)
		}
		if other, ok := all[memory["ceth"]]; ok {
			t.Errorf("%q and %q have the same digest", source, other)
		}
		all[memory["ceth"]] = source
	}
}
