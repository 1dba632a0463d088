package switching

import (
	"math"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		want    string
		corrupt func(*Config)
	}{
		{"0 ports", func(c *Config) { c.Ports, c.Routes = nil, nil }},
		{"port 1: rate", func(c *Config) { c.Ports[1].Rate = 0 }},
		{"port 1: delay", func(c *Config) { c.Ports[1].Delay = -1 }},
		{"port 0: link overhead", func(c *Config) { c.Ports[0].Overhead = -frame.MinLen }},
		{"port 0: MTU", func(c *Config) { c.Ports[0].MTU = 63 }},
		{`arbitration "lottery", want fifo or ingress`, func(c *Config) { c.Arbitration = "lottery" }},
		{"buffer of 0B", func(c *Config) { c.Buffer = 0 }},
		{"ports, 150KB", func(c *Config) { c.Buffer = 149 * unit.Kilobyte }},
		{"port 3, want 0 to 2", func(c *Config) { c.Routes[2] = []fabric.Port{3} }},
		{"port -1, want 0 to 2", func(c *Config) { c.Routes[2] = []fabric.Port{-1} }},
		{"DSCP 9: class 8", func(c *Config) { c.DSCP[9] = 8 }},
		{"class 2: weight -1", func(c *Config) { c.Weights[2] = -1 }},
		{"class 3: reserve 0B", func(c *Config) { c.Classes[3].XON = -1 }},
		{"class 3: alpha shift 63", func(c *Config) { c.Classes[3].AlphaShift = 63 }},
		{"quanta 0", func(c *Config) { c.Classes[3].Quanta = 0 }},
		{`unknown marking law "blue"`, func(c *Config) { c.Classes[1].Marking = "blue" }},
		{"class 1: RED", func(c *Config) {
			c.Classes[1].Marking, c.Classes[1].RED = cc.MarkRED, REDConfig{Kmin: 2, Kmax: 1}
		}},
		{"class 1: RED", func(c *Config) {
			c.Classes[1].Marking, c.Classes[1].RED = cc.MarkRED, REDConfig{Pmax: math.NaN()}
		}},
	} {
		cfg := rackConfig(3)
		c.corrupt(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "switch s0") {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
	cfg := rackConfig(3)
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}
