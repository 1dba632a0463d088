package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// otelcolSettings make the OpenTelemetry Collector log the counts of what it received,
// forward it, and acknowledge it once forwarded.
const otelcolSettings = `
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:0"}}}}
exporters:
  debug: {}
  otlp_grpc: {endpoint: %q, tls: {insecure: true}, sending_queue: {enabled: false}}
service:
  telemetry: {metrics: {level: none}, logs: {encoding: json, sampling: {enabled: false}}}
  pipelines:
    traces: {receivers: [otlp], exporters: [debug, otlp_grpc]}
    metrics: {receivers: [otlp], exporters: [debug, otlp_grpc]}
`

// otelcolLine is a line of the OpenTelemetry Collector's log.
type otelcolLine struct {
	Message  string `json:"msg"`
	Endpoint string
	Spans    int64
	Points   int64 `json:"data points"`
}

// otelcol starts the OpenTelemetry Collector, which forwards to an address. It returns
// the collector's address, and a function that ends the collector and returns the
// counts of received spans and points.
func otelcol(t *testing.T, forward string) (address string, end func() (spans, points int64)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "otelcol.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, otelcolSettings, forward), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool(t, "otelcol", "RACKFAB_OTELCOL"), "--config", file)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // has ended already if the test passed
		_ = cmd.Wait()
	})
	log := make(chan otelcolLine, 1<<16)
	go func() {
		defer close(log)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			var line otelcolLine
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				line.Message = lines.Text()
			}
			log <- line
		}
	}()
	var said []string
	for line := range log {
		said = append(said, line.Message)
		if line.Endpoint != "" {
			address = line.Endpoint
		}
		if strings.HasPrefix(line.Message, "Everything is ready") {
			break
		}
	}
	if address == "" {
		t.Fatalf("not up: %s", strings.Join(said, "\n"))
	}
	return address, func() (spans, points int64) {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		for line := range log {
			spans, points = spans+line.Spans, points+line.Points
		}
		return spans, points
	}
}

// storedSeries returns every series of the latest run with its points, sorted.
func storedSeries(t *testing.T, c rackfabv1.CollectorServiceClient) (series []string, points int64) {
	t.Helper()
	list, err := c.ListSeries(t.Context(), &rackfabv1.ListSeriesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string]bool{}
	for _, s := range list.GetSeries() {
		metrics[s.GetMetric()] = true
	}
	for metric := range metrics {
		answer, err := c.QuerySeries(t.Context(), &rackfabv1.QuerySeriesRequest{Select: &rackfabv1.SeriesSelector{Metric: metric}})
		if err != nil || answer.GetTruncated() {
			t.Fatal(err, answer.GetTruncated())
		}
		for _, s := range answer.GetSeries() {
			points += int64(len(s.GetValues()))
			series = append(series, prototext.Format(s))
		}
	}
	slices.Sort(series)
	return series, points
}

// The processes of a rack export to the stock OpenTelemetry Collector. It forwards
// exactly what the same run exports in memory: services, IDs, parents, times,
// attributes, events and points, all of them and each once.
func TestNodesExportToAStockCollector(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a rack")
	}
	behind, at := startCollector(t)
	stock, end := otelcol(t, at)
	said := runExporting(t, stock, "--bus", "nats")
	spans, points := end()
	if want := fmt.Sprintf("telemetry: %d spans and %d points to %s,", spans, points, stock); !strings.Contains(said, want) || strings.Contains(said, "dropped") {
		t.Errorf("received %d spans and %d points; the run prints:\n%s", spans, points, said)
	}
	have := stored(t, behind)
	haveSeries, havePoints := storedSeries(t, behind)
	if int64(len(have)) != spans || spans < 20 || havePoints != points || points < 20 {
		t.Errorf("%d spans and %d points received, %d and %d forwarded", spans, points, len(have), havePoints)
	}
	n, err := behind.GetCounters(t.Context(), &rackfabv1.GetCountersRequest{})
	if err != nil || n.GetSpans().GetReceived() != spans || n.GetPoints().GetReceived() != points {
		t.Errorf("not forwarded exactly once: %v, %v", n, err)
	}
	direct, at := startCollector(t)
	runExporting(t, at, "--bus", "memory")
	wantSeries, _ := storedSeries(t, direct)
	if diff := cmp.Diff(stored(t, direct), have); diff != "" {
		t.Errorf("spans in memory (-), by the stock collector (+):\n%s", diff)
	}
	if diff := cmp.Diff(wantSeries, haveSeries); diff != "" {
		t.Errorf("series in memory (-), by the stock collector (+):\n%s", diff)
	}
}
