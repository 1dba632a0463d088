package live

import (
	"net"
	"strings"
	"testing"
)

// `up` reports a collector that does not answer.
func TestWhoToldACollectorThatIsAbsentHearsOfIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	there := reached(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if gone := reached(l.Addr().String()); there != "" || !strings.Contains(gone, "nobody answers yet") {
		t.Errorf("of one that is there %q, of one that is not %q", there, gone)
	}
}
