package batch

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report"
)

// A line below the table reports faulty envelopes, if there were any.
func TestEnvelopeFaultsArePrintedBelowTheTable(t *testing.T) {
	run := &measure.Run{Scheme: "pcn", Wall: 1}
	show := func() string {
		var b strings.Builder
		printSpeed(&b, []report.Variant{{Value: "pcn", Run: run}})
		return b.String()
	}
	if text := show(); strings.Count(text, "\n") != 1 {
		t.Errorf("without a fault:\n%s", text)
	}
	run.EnvelopeFaults = measure.EnvelopeFaults{Oversized: 1, Resent: 2}
	want := "pcn envelopes with a fault, none of which changed the run: 1 oversized, 2 resent\n"
	if text := show(); !strings.HasSuffix(text, "\n"+want) {
		t.Errorf("got:\n%s", text)
	}
}
