package telemetry_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// The guide lists every metric with its properties.
func TestGuideListsMetrics(t *testing.T) {
	rows := "| --- | --- | --- | --- | --- |\n"
	for _, m := range telemetry.Metrics {
		is := map[telemetry.MetricKind]string{
			telemetry.Level: "value at the end of the span", telemetry.Peak: "maximum in the span", telemetry.Count: "amount in the span",
		}[m.Kind]
		per := "`rackfab." + strings.ReplaceAll(m.Per, ", ", "`, `rackfab.") + "`"
		rows += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", m.Name, m.Unit, is, per, m.Meaning)
	}
	guide, err := os.ReadFile("../../../docs/guide/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), rows+"\n") {
		t.Errorf("docs/guide/metrics.md should have\n%s", rows)
	}
}
