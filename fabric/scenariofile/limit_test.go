package scenariofile_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// A scenario of the largest size is parsed, and one of a byte more is one fault.
func TestSizeOfScenarioIsLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("parses 64 MiB")
	}
	text := []byte("name: x\nduration: 1us\nnics: {h0..h1: }\nlinks: [{endpoints: [h0, h1], rate: 1Gbps, delay: 1us}]\n")
	text = append(text, bytes.Repeat([]byte("\n"), scenariofile.MaxFile-len(text))...)
	if _, err := scenariofile.Parse("x.yaml", text); err != nil {
		t.Errorf("%d bytes: %v", len(text), err)
	}
	text = append(text, '\n')
	var err error
	allocs := testing.AllocsPerRun(1, func() { _, err = scenariofile.Parse("x.yaml", text) })
	if want := fmt.Sprintf("x.yaml:1: larger than %d bytes, the largest scenario", scenariofile.MaxFile); err == nil || err.Error() != want || allocs > 100 {
		t.Errorf("a byte more: %v with %v allocations, want %s", err, allocs, want)
	}
}
