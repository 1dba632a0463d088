package bus

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
)

// conns returns two connections to one bus of each kind.
var conns = map[string]func(t *testing.T) (a, b Conn){
	"memory": func(*testing.T) (a, b Conn) {
		m := NewMemory()
		return m.Dial(), m.Dial()
	},
	"nats": func(t *testing.T) (a, b Conn) {
		s := serve(t, "")
		return dial(t, s), dial(t, s)
	},
}

func serve(t *testing.T, addr string) *Server {
	t.Helper()
	s, err := StartServer(addr, Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func dial(t *testing.T, s *Server) Conn {
	t.Helper()
	c, err := DialAs(s.URL(), t.Name(), Access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// listen subscribes and flushes. It returns a channel of the received messages, each as
// "subject data".
func listen(t *testing.T, c Conn, pattern string) (got chan string, unsubscribe func()) {
	t.Helper()
	got = make(chan string, 1000)
	unsubscribe, err := c.Subscribe(pattern, func(subject string, data []byte) { got <- subject + " " + string(data) })
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return got, unsubscribe
}

func publish(t *testing.T, c Conn, subject, data string) {
	t.Helper()
	if err := c.Publish(subject, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func forBoth(t *testing.T, f func(t *testing.T, a, b Conn)) {
	for kind, make := range conns {
		t.Run(kind, func(t *testing.T) {
			a, b := make(t)
			f(t, a, b)
		})
	}
}

func TestMessagesOfOneSenderArriveInOrder(t *testing.T) {
	forBoth(t, func(t *testing.T, a, b Conn) {
		got, _ := listen(t, b, "x.*.y")
		for i := range 500 {
			publish(t, a, "x.1.y", fmt.Sprint(i))
		}
		for i := range 500 {
			if m := <-got; m != fmt.Sprint("x.1.y ", i) {
				t.Fatalf("message %d is %q", i, m)
			}
		}
	})
}

func TestPatternsMatchNoOtherSubjects(t *testing.T) {
	forBoth(t, func(t *testing.T, a, b Conn) {
		got, _ := listen(t, b, "x.*.y")
		for _, s := range []string{"x.y", "x.1.2.y", "x.1.z", "z.1.y", "x.1.y.z"} {
			publish(t, a, s, "stray")
		}
		publish(t, a, "x.2.y", "end")
		if m := <-got; m != "x.2.y end" {
			t.Errorf("got %q", m)
		}
	})
}

func TestUnsubscribeStopsDelivery(t *testing.T) {
	forBoth(t, func(t *testing.T, a, b Conn) {
		received, unsubscribe := listen(t, b, "x")
		unsubscribe()
		got, _ := listen(t, b, "x")
		publish(t, a, "x", "1")
		<-got
		if len(received) != 0 {
			t.Errorf("received %q after unsubscribing", <-received)
		}
	})
}

func TestPublishDoesNotKeepTheBuffer(t *testing.T) {
	forBoth(t, func(t *testing.T, a, b Conn) {
		got, _ := listen(t, b, "x")
		data := []byte("first")
		for range 2 {
			if err := a.Publish("x", data); err != nil {
				t.Fatal(err)
			}
			copy(data, "other")
		}
		if m, n := <-got, <-got; m != "x first" || n != "x other" {
			t.Errorf("got %q, %q", m, n)
		}
	})
}

func TestClosedConnectionReturnsErrors(t *testing.T) {
	forBoth(t, func(t *testing.T, a, b Conn) {
		got, _ := listen(t, a, "x")
		a.Close()
		if a.Publish("x", nil) == nil {
			t.Error("published")
		}
		if _, err := a.Subscribe("x", func(string, []byte) {}); err == nil {
			t.Error("subscribed")
		}
		publish(t, b, "x", "1")
		if err := b.Flush(); err != nil || len(got) > 0 {
			t.Errorf("%v, %d messages", err, len(got))
		}
	})
}

// ARCH §3.4: a reconnect is reported, and the bus may restart at its old address.
func TestReconnectsToARestartedServer(t *testing.T) {
	first := serve(t, "")
	c := dial(t, first)
	got, _ := listen(t, c, "x")
	lost := c.(interface{ Lost() bool }).Lost
	if lost() {
		t.Error("lost while the server is up")
	}
	first.Shutdown()
	for !lost() { // until the client has seen the end of the socket
		runtime.Gosched()
	}
	second := serve(t, first.Addr())
	<-c.Reconnected()
	if lost() {
		t.Error("lost after the reconnect")
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	publish(t, dial(t, second), "x", "again")
	if m := <-got; m != "x again" {
		t.Errorf("got %q", m)
	}
}

func TestServerAcceptsTheLargestEnvelope(t *testing.T) {
	s := serve(t, "127.0.0.1:0")
	a, b := dial(t, s), dial(t, s)
	got, _ := listen(t, b, "x")
	big := bytes.Repeat([]byte("0123456789abcdef"), MaxEnvelope/16)
	publish(t, a, "x", string(big))
	if m := <-got; m != "x "+string(big) {
		t.Errorf("received %d bytes that differ from those sent", len(m))
	}
}

func TestInvalidAddresses(t *testing.T) {
	for _, addr := range []string{"nohost", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:-1"} {
		if s, err := StartServer(addr, Guard{Open: true}); err == nil {
			s.Shutdown()
			t.Errorf("%s: server started", addr)
		}
	}
	if c, err := DialAs("nats://127.0.0.1:1", "nobody", Access{}); err == nil {
		c.Close()
		t.Error("connected to a port without a server")
	}
}

func TestCheckToken(t *testing.T) {
	for name, ok := range map[string]bool{
		"leaf0": true, "tor-1_a": true, "": false, "a.b": false, "*": false, "a>": false, "a b": false, "a\n": false,
	} {
		if err := CheckToken(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLinkSubjects(t *testing.T) {
	s := LinkSubject("r1", "leaf0", "nic7")
	if s != "rackfab.r1.link.leaf0.nic7" {
		t.Errorf("subject %s", s)
	}
	if !fits(InPattern("r1", "nic7"), s) || fits(InPattern("r1", "leaf0"), s) || fits(InPattern("r2", "nic7"), s) {
		t.Error("the pattern of a group must match only the envelopes to it")
	}
}
