package main

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rackfab/rackfab/bus"
)

// TRUST-12: Without flags, every command listens on loopback alone, or not at all. The default of
// each flag with an address is empty, off, or a loopback address.
func TestDefaultAddressesAreOnLoopback(t *testing.T) {
	var checked []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(f.Usage, "HOST:PORT") && !strings.HasSuffix(f.Name, "listen") && f.Name != "http" {
				return
			}
			checked = append(checked, c.Name()+" --"+f.Name)
			if !strings.Contains(f.DefValue, ":") {
				return // none, or a word such as off
			}
			host, _, err := net.SplitHostPort(f.DefValue)
			if a, parsed := netip.ParseAddr(host); err != nil || parsed != nil || !a.IsLoopback() {
				t.Errorf("%s --%s is %q by default", c.CommandPath(), f.Name, f.DefValue)
			}
		})
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(root())
	for _, want := range []string{"bus --listen", "collector --listen", "collector --otlp-http", "collector --http", "controller --listen", "nic --listen", "nic --metrics-listen", "page --http", "switch --listen", "up --http", "worker --listen"} {
		if !slices.Contains(checked, want) {
			t.Errorf("%s was not checked", want)
		}
	}
}

// A bus that nobody has configured listens on loopback and admits nobody.
func TestDefaultBusIsClosed(t *testing.T) {
	if s, err := bus.StartServer("", bus.Guard{}); err == nil {
		s.Shutdown()
		t.Error("a bus without users started")
	}
	c := root()
	c.SetArgs([]string{"bus"})
	if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--open") {
		t.Errorf("rackfab bus: %v", err)
	}
	s, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	if a, err := netip.ParseAddrPort(s.Addr()); err != nil || !a.Addr().IsLoopback() {
		t.Errorf("listens at %s, %v", s.Addr(), err)
	}
}
