package batch

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report"
)

// The cost of each run is a row, and a line below reports faulty envelopes, if there were any.
func TestSpeedIsPrintedWithEnvelopeFaults(t *testing.T) {
	run := &measure.Run{Scheme: "pcn", FabricTime: 80 * unit.Millisecond, Wall: 2, CPU: 1.5, FrameHops: 4_000_000, Envelopes: 90}
	show := func() string {
		var b strings.Builder
		printSpeed(&b, []report.Variant{{Value: "pcn", Run: run}})
		return b.String()
	}
	if text := show(); strings.Count(text, "\n") != 3 || !strings.Contains(text, "pcn     80.000  2.00   1.50     4000000  2.00         90") {
		t.Errorf("without a fault:\n%s", text)
	}
	run.EnvelopeFaults = measure.EnvelopeFaults{Oversized: 1, Resent: 2}
	want := "pcn: envelopes with a fault, none of which changed the run: 1 oversized, 2 resent\n"
	if text := show(); !strings.HasSuffix(text, "\n"+want) {
		t.Errorf("got:\n%s", text)
	}
}
