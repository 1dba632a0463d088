package bus

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/frame"
)

// filled returns a valid envelope of exactly n bytes: long frames, and two that fill it.
func filled(t *testing.T, n int) []byte {
	t.Helper()
	var long frame.Frame
	long.SetHeader(make([]byte, frame.HeaderRoom))
	size := func(count int) int { return len(build(Envelope{Seq: 1}, slices.Repeat([]frame.Frame{long}, count))) }
	one := size(3) - size(2)
	frames := slices.Repeat([]frame.Frame{long}, n/one-2)
	for len(build(Envelope{Seq: 1}, frames))+2*one <= n {
		frames = append(frames, long)
	}
	surplus := len(build(Envelope{Seq: 1}, frames)) + 2*one - n // of headers
	for _, header := range []int{frame.HeaderRoom - surplus/2, frame.HeaderRoom - (surplus - surplus/2)} {
		short := long
		short.SetHeader(make([]byte, header))
		frames = append(frames, short)
	}
	return build(Envelope{Seq: 1, Want: noWant}, frames)
}

// An envelope of the largest size is accepted, and one of a byte more is refused without
// an allocation of its size.
func TestSizeOfEnvelopeIsLimited(t *testing.T) {
	data := filled(t, MaxEnvelope)
	if _, err := ParseEnvelope(data); err != nil || len(data) != MaxEnvelope {
		t.Errorf("%d bytes: %v", len(data), err)
	}
	data = append(data, 0)
	var err error
	if n := testing.AllocsPerRun(10, func() { _, err = ParseEnvelope(data) }); !errors.Is(err, ErrOversized) || n > 10 {
		t.Errorf("a byte more: %v, %v allocations", err, n)
	}
}

// The server accepts messages of the largest size. It disconnects a client that announces
// a larger one, or sends an endless command, and serves the others.
func TestServerLimitsMessages(t *testing.T) {
	s, err := StartServer("", Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	say := func(text string) (answer string) {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprint(conn, "CONNECT {\"verbose\":false}\r\n", text); err != nil {
			return "" // disconnected
		}
		for in := bufio.NewReader(conn); ; {
			line, err := in.ReadString('\n')
			if err != nil || strings.HasPrefix(line, "-ERR") || strings.HasPrefix(line, "PONG") {
				return line
			}
		}
	}
	publish := func(n int) string { return fmt.Sprintf("PUB x %d\r\n", n) }
	const ping = "\r\nPING\r\n"
	if got := say(publish(MaxPayload) + strings.Repeat("x", MaxPayload) + ping); !strings.HasPrefix(got, "PONG") {
		t.Errorf("the largest message: %q", got)
	}
	for name, text := range map[string]string{
		"a byte more":        publish(MaxPayload+1) + strings.Repeat("x", MaxPayload+1) + ping,
		"a huge size":        publish(math.MaxInt32) + ping,
		"an endless command": "SUB " + strings.Repeat("x", 1<<16) + ping,
	} {
		if got := say(text); got != "" && !strings.HasPrefix(got, "-ERR") { // a reset may overtake the error
			t.Errorf("%s: %q, want an error and the end of the connection", name, got)
		}
	}
	c, err := DialAs(s.URL(), t.Name(), Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Publish("x", make([]byte, MaxPayload)); err != nil {
		t.Error(err)
	}
	if err := c.Publish("x", make([]byte, MaxPayload+1)); err == nil {
		t.Error("a message above the limit is accepted")
	}
}
