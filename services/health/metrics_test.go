package health_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/rackfab/rackfab/services/health"
)

// everything is a source of every entry of the catalogue.
func everything(put health.Put) {
	for _, e := range health.Catalogue {
		labels := make([]string, len(e.Labels))
		for i := range labels {
			labels[i] = "x"
		}
		put(e, 1, labels...)
	}
}

// scrape queries the endpoint of a process that exports everything.
func scrape(t *testing.T) string {
	t.Helper()
	address, err := health.Serve(t.Context(), "127.0.0.1:0", everything)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status, err)
	}
	return string(text)
}

// Names and units follow the Prometheus conventions. The endpoint exports the value of
// every entry, and metrics of the process and the Go runtime.
func TestScrape(t *testing.T) {
	text := scrape(t)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, e := range health.Catalogue {
		if !strings.Contains(text, "\n"+e.Name+" 1\n") && !strings.Contains(text, "\n"+e.Name+"{") {
			t.Errorf("no %s", e.Name)
		}
		if !strings.HasPrefix(e.Name, "rackfab_") {
			t.Errorf("%s: want the prefix rackfab_", e.Name)
		}
	}
	for _, name := range []string{"process_cpu_seconds_total", "process_resident_memory_bytes", "go_goroutines"} {
		if !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("no %s", name)
		}
	}
}

// promtool, if it is installed, accepts the metrics as well.
func TestPromtool(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("RACKFAB_CI") != "" {
			t.Fatal("promtool is not installed: apt-get install prometheus")
		}
		t.Skip("promtool is not installed")
	}
	check := exec.CommandContext(t.Context(), tool, "check", "metrics")
	check.Stdin = strings.NewReader(scrape(t))
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The error names an address at which the process cannot listen. An empty address
// disables the endpoint. The endpoint ends with its context.
func TestServe(t *testing.T) {
	if address, err := health.Serve(t.Context(), ""); address != "" || err != nil {
		t.Error(address, err)
	}
	if _, err := health.Serve(t.Context(), "127.0.0.1:99999"); err == nil || !strings.Contains(err.Error(), "listen for metrics at 127.0.0.1:99999") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, err := health.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for {
		answer, err := http.Get("http://" + first + "/metrics")
		if err != nil {
			return
		}
		_ = answer.Body.Close()
	}
}
