package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
)

// startCollector starts a collector with its own store. It returns a client and the
// collector's address.
func startCollector(t *testing.T) (rackfabv1.CollectorServiceClient, string) {
	t.Helper()
	line := serve(t, "collector", "--listen", "127.0.0.1:0", "--http", "off", "--data", filepath.Join(t.TempDir(), "data"))
	var ready struct{ Address string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatalf("the collector prints %q: %v", line, err)
	}
	return dialCollector(t, ready.Address), ready.Address
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
