package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
)

// startCollector starts a collector with a store of its own, and gives a client of it and
// its address.
func startCollector(t *testing.T) (rackfabv1.CollectorServiceClient, string) {
	t.Helper()
	c := exec.Command(program, "collector", "--listen", "127.0.0.1:0", "--http", "off", "--data", filepath.Join(t.TempDir(), "data"))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt) // Wait tells
		if err := c.Wait(); err != nil {
			t.Errorf("the collector ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ Address string }
	if err != nil || json.Unmarshal(line, &ready) != nil {
		t.Fatalf("the collector says %q: %v", line, err)
	}
	return dialCollector(t, ready.Address), ready.Address
}

// dialCollector gives a client of a collector that is there already.
func dialCollector(t *testing.T, address string) rackfabv1.CollectorServiceClient {
	t.Helper()
	c, err := collector.DialAs(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // all calls are over
	return c.API()
}
