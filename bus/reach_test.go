package bus

import (
	"crypto/tls"
	"fmt"
	"net"
	"testing"

	"github.com/nats-io/nats.go"
)

// TRUST-13: A bus that does not run or closes the connection, and one whose connection was lost, may
// be reached later. A refusal and an invalid address are final.
func TestOutOfReach(t *testing.T) {
	dialError := func(url string, a Access) error {
		c, err := DialAs(url, t.Name(), a)
		if err == nil {
			c.Close()
		}
		return err
	}
	guard, _ := guarded(t)
	for name, tt := range map[string]struct {
		err error
		out bool
	}{
		"no server":            {dialError("nats://127.0.0.1:1", Access{}), true},
		"closed at once":       {dialError(closing(t), Access{}), true},
		"lost in a flush":      {fmt.Errorf("flush bus: %w", nats.ErrConnectionClosed), true},
		"lost for long":        {fmt.Errorf("flush bus: %w", nats.ErrTimeout), true},
		"lost, for a message":  {fmt.Errorf("publish: %w", nats.ErrReconnectBufExceeded), true},
		"no key":               {dialError(guard.URL(), Access{}), false},
		"a server without TLS": {dialError(serve(t, "").URL(), Access{TLS: &tls.Config{MinVersion: tls.VersionTLS13}}), false},
		"an invalid port":      {dialError("nats://127.0.0.1:99999", Access{}), false},
	} {
		if tt.err == nil || OutOfReach(tt.err) != tt.out {
			t.Errorf("%s: out of reach %v, want %v: %v", name, !tt.out, tt.out, tt.err)
		}
	}
}

// closing returns the URL of a listener that closes every connection.
func closing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_ = c.Close()
		}
	}()
	return "nats://" + l.Addr().String()
}
