package live

import (
	"net"
	"strings"
	"testing"
)

// `up` reports an unreachable collector.
func TestUnreachableCollector(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reachable := unreachable(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if closed := unreachable(l.Addr().String()); reachable != "" || !strings.Contains(closed, "not reachable yet") {
		t.Errorf("reachable: %q, closed: %q", reachable, closed)
	}
}
