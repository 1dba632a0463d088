package main

import (
	"net"
	"strings"
	"testing"
)

// `up` fails on an occupied port before it starts any process, and says what to do.
func TestUpReportsAnOccupiedPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Chdir(t.TempDir())
	c := root()
	c.SetArgs([]string{"up", "star-2", "--address", l.Addr().String()})
	if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") || !strings.Contains(err.Error(), "--address HOST:PORT") {
		t.Errorf("got %v", err)
	}
}

// The hint at another rack is for occupied ports alone.
func TestUpReportsAnAddressOfAnotherHost(t *testing.T) {
	t.Chdir(t.TempDir())
	c := root()
	c.SetArgs([]string{"up", "star-2", "--address", "203.0.113.1:7000"}) // for documentation, RFC 5737
	if err := c.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "--address: listen tcp") || strings.Contains(err.Error(), "another rack") {
		t.Errorf("got %v", err)
	}
}
