package e2e

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/measure"
)

// injectForeign publishes between all peers of every run on the bus, once it has seen the
// pair's first envelope: a malformed envelope, an oversized one, and one of another
// version.
func injectForeign(t *testing.T, url string) {
	t.Helper()
	c, err := bus.DialAs(url, "stranger", bus.Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	other := []byte{0xfa, bus.Version + 1, 0, 0}
	var once sync.Map
	_, err = c.Subscribe("rackfab.*.link.*.*", func(subject string, _ []byte) {
		if _, seen := once.LoadOrStore(subject, true); seen {
			return
		}
		for _, data := range [][]byte{[]byte("hello"), make([]byte, bus.MaxEnvelope+1), other} {
			if err := c.Publish(subject, data); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
}

// Foreign messages on an external bus are counted and shown, and change nothing.
func TestForeignMessagesAreReportedAndIgnored(t *testing.T) {
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	injectForeign(t, server.URL())
	memory := start(t, "--bus", "memory", "--duration", short, "--scheme", "pcn").results(t)
	nats := start(t, "--nats-url", server.URL(), "--duration", short, "--scheme", "pcn").results(t)
	if diff := cmp.Diff(digests(memory), digests(nats)); diff != "" {
		t.Fatalf("digests differ (-memory +nats):\n%s", diff)
	}
	quiet, faults := memory.Runs[0].EnvelopeFaults, nats.Runs[0].EnvelopeFaults
	if text := measure.FaultsInWords(quiet); text != "" {
		t.Errorf("in memory: %s", text)
	}
	if faults.Malformed == 0 || faults.Oversized == 0 || faults.OtherVersion == 0 {
		t.Errorf("over NATS: %+v", faults)
	}
	if nats.Runs[0].Malformed != 0 {
		t.Errorf("%d malformed frames", nats.Runs[0].Malformed)
	}
}
