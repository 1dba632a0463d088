package scenariofile

import (
	"strconv"
	"strings"
	"testing"
)

// PROG-8: A million steps are read in seconds. The benchmark prints the time for all of them.
func BenchmarkParseAMillionSteps(b *testing.B) {
	const steps = 1_000_000
	var text strings.Builder
	rack, _, _ := strings.Cut(programmed, "programs:")
	text.WriteString(rack + "programs:\n  h0: |\n    s0: calc 1us\n")
	for i := 1; i < steps; i++ {
		text.WriteString("    s" + strconv.Itoa(i) + ": calc 1us after s" + strconv.Itoa(i-1) + "\n")
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := Parse("million.yaml", []byte(text.String()))
		if err != nil || s.Steps[0].Len() != steps {
			b.Fatal(err)
		}
	}
}
