package discovery

import (
	"strings"
	"testing"
)

// path is a connection to the bus with these ends.
type path struct{ local, remote string }

func (p path) Ends() (local, remote string) { return p.local, p.remote }

// Connections to a bus on this machine, and on others.
var (
	here  = path{"127.0.0.1:40001", "127.0.0.1:4222"}
	alias = path{"127.0.0.1:40001", "127.0.0.2:4222"}
	own   = path{"192.0.2.2:40001", "192.0.2.2:4222"}
	far   = path{"192.0.2.2:40001", "192.0.2.1:4222"}
	far6  = path{"[2001:db8::2]:40001", "[2001:db8::1]:4222"}
)

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		given, listening string
		conn             any
		want, fault      string // one of them
	}{
		{"", "127.0.0.1:7000", nil, "127.0.0.1:7000", ""}, // a bus in memory
		{"", "127.0.0.1:7000", here, "127.0.0.1:7000", ""},
		{"", "127.0.0.1:7000", alias, "127.0.0.1:7000", ""},
		{"", "127.0.0.1:7000", own, "127.0.0.1:7000", ""},
		{"", "192.0.2.9:7000", far, "192.0.2.9:7000", ""}, // another interface
		{"", "192.0.2.9:7000", here, "192.0.2.9:7000", ""},
		{"", "0.0.0.0:7000", far, "192.0.2.2:7000", ""},
		{"", "[::]:7000", far, "192.0.2.2:7000", ""},
		{"", "[::]:7000", far6, "[2001:db8::2]:7000", ""},
		{"", "0.0.0.0:7000", here, "127.0.0.1:7000", ""},
		{"", "0.0.0.0:7000", nil, "", "use --advertise HOST"},
		{"", "127.0.0.1:7000", far, "", "use --listen 192.0.2.2:PORT, or --advertise HOST"},
		{"", "[::1]:7000", far6, "", "use --listen [2001:db8::2]:PORT, or --advertise HOST"},
		{"", "nowhere", far, "", "listener"},
		{"r0", "0.0.0.0:7000", far, "r0:7000", ""},
		{"r0.example:81", "0.0.0.0:7000", far, "r0.example:81", ""},
		{"192.0.2.7", "127.0.0.1:7000", far, "192.0.2.7:7000", ""},
		{"192.0.2.7:81", "127.0.0.1:7000", here, "192.0.2.7:81", ""},
		{"2001:db8::7", "[::]:7000", far6, "[2001:db8::7]:7000", ""},
		{"[2001:db8::7]", "[::]:7000", far6, "[2001:db8::7]:7000", ""},
		{"[2001:db8::7]:81", "[::]:7000", far6, "[2001:db8::7]:81", ""},
		{"127.0.0.1", "127.0.0.1:7000", far, "127.0.0.1:7000", ""}, // the controller is here, only the bus is far
		{"0.0.0.0", "0.0.0.0:7000", far, "", "--advertise 0.0.0.0: 0.0.0.0 is not the address of a machine"},
		{"[::]:81", "0.0.0.0:7000", far, "", "--advertise [::]:81: :: is not the address of a machine"},
		{"::ffff:0.0.0.0", "0.0.0.0:7000", here, "", "not the address of a machine"},
		{"r0:", "0.0.0.0:7000", far, "", `--advertise "r0:": must be HOST or HOST:PORT`},
		{":81", "0.0.0.0:7000", far, "", "must be HOST or HOST:PORT"},
		{"r0:0", "0.0.0.0:7000", far, "", "must be HOST or HOST:PORT"},
		{"r0:65536", "0.0.0.0:7000", far, "", "must be HOST or HOST:PORT"},
		{"http://r0", "0.0.0.0:7000", far, "", "must be HOST or HOST:PORT"},
		{"[r0", "0.0.0.0:7000", far, "", "must be HOST or HOST:PORT"},
	} {
		got, err := Address(tt.given, tt.listening, tt.conn)
		switch {
		case got != tt.want || (err == nil) != (tt.fault == ""):
			t.Errorf("--advertise %q, listener %s, bus %v: %q, %v", tt.given, tt.listening, tt.conn, got, err)
		case err != nil && !strings.Contains(err.Error(), tt.fault):
			t.Errorf("--advertise %q, listener %s, bus %v: %v, want %s", tt.given, tt.listening, tt.conn, err, tt.fault)
		}
	}
}
