package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
)

// startCollector starts a collector with its own store. It returns a client and the
// collector's address.
func startCollector(t *testing.T) (rackfabv1.CollectorServiceClient, string) {
	t.Helper()
	c, address, _ := startCollectorWith(t, "off")
	return c, address
}

// startCollectorWith is startCollector with an address of OTLP over HTTP. It also returns
// where that is.
func startCollectorWith(t *testing.T, otlpHTTP string) (c rackfabv1.CollectorServiceClient, address, overHTTP string) {
	t.Helper()
	line := serve(t, "collector", "--listen", "127.0.0.1:0", "--otlp-http", otlpHTTP, "--http", "off", "--data", filepath.Join(t.TempDir(), "data"))
	var ready struct {
		Address  string
		OTLPHTTP string `json:"otlp_http"`
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatalf("the collector prints %q: %v", line, err)
	}
	return dialCollector(t, ready.Address), ready.Address, ready.OTLPHTTP
}

// dialCollector returns a client of a running collector.
func dialCollector(t *testing.T, address string) rackfabv1.CollectorServiceClient {
	t.Helper()
	c, err := collector.DialAs(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // all calls are over
	return c.API()
}

// The stock exporter of OpenTelemetry's SDK exports to the collector over HTTP, plain and
// with gzip.
func TestStockExporterOverHTTP(t *testing.T) {
	c, _, address := startCollectorWith(t, "127.0.0.1:0")
	for _, compression := range []otlptracehttp.Compression{otlptracehttp.NoCompression, otlptracehttp.GzipCompression} {
		exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(address), otlptracehttp.WithInsecure(), otlptracehttp.WithCompression(compression))
		if err != nil {
			t.Fatal(err)
		}
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
		for range 5 {
			_, span := provider.Tracer("test").Start(t.Context(), "GET")
			span.SetAttributes(attribute.Int("compression", int(compression)))
			span.End()
		}
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	n, err := c.GetCounters(t.Context(), &rackfabv1.GetCountersRequest{})
	if s := n.GetSpans(); err != nil || s.GetReceived() != 10 || s.GetStored() != 10 || s.GetRejected() != 0 {
		t.Errorf("spans %v, %v; want 10 stored", s, err)
	}
}
