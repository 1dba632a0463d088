package health_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/services/health"
)

// The guide lists every metric as the catalogue defines it.
func TestGuideListsMetrics(t *testing.T) {
	rows := "| --- | --- | --- | --- |\n"
	for _, e := range health.Catalogue {
		rows += fmt.Sprintf("| `%s` | %s | %s | %s |\n", e.Name, strings.Join(e.Labels, ", "), e.Processes, e.Help)
	}
	guide, err := os.ReadFile("../../docs/guide/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), rows+"\n") {
		t.Errorf("docs/guide/metrics.md should have\n%s", rows)
	}
}
