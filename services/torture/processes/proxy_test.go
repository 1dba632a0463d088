package processes

import (
	"maps"
	"net"
	"testing"

	"github.com/rackfab/rackfab/bus"
)

// proxied returns the proxy of a bus.
func proxied(t *testing.T) *proxy {
	t.Helper()
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	p, err := newProxy(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// A client behind a proxy that is severed connects again, through the proxy, once this takes
// connections, and messages arrive as before. Those of a slow consumer arrive, too.
func TestSeveredConnectionComesBack(t *testing.T) {
	p := proxied(t)
	c, err := bus.DialAs(p.url(), "c", bus.Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	got := make(chan int, 1)
	if _, err := c.Subscribe("a", func(_ string, data []byte) { got <- len(data) }); err != nil {
		t.Fatal(err)
	}
	for _, slow := range []bool{false, true} {
		before := p.connections()
		p.setSlow(slow)
		p.sever(false)
		<-c.Reconnected()
		now := p.connections()
		maps.DeleteFunc(now, func(c net.Conn, _ bool) bool { return before[c] })
		if len(now) == 0 {
			t.Error("no new connection through the proxy after it was severed")
		}
		data := make([]byte, 3*slowPiece)
		if err := c.Publish("a", data); err != nil {
			t.Fatal(err)
		}
		if n := <-got; n != len(data) {
			t.Errorf("slow %v: %d bytes arrived, want %d", slow, n, len(data))
		}
	}
}

// While connections are refused, no client reaches the bus.
func TestProxyRefuses(t *testing.T) {
	p := proxied(t)
	p.sever(true)
	if c, err := bus.DialAs(p.url(), "c", bus.Access{}); err == nil {
		c.Close()
		t.Error("connected")
	}
	p.sever(false)
	c, err := bus.DialAs(p.url(), "c", bus.Access{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func (p *proxy) connections() map[net.Conn]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.open)
}
