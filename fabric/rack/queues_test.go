package rack

import (
	"math"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

const star = `name: star
duration: 1ms
scheme: dcqcn
defaults:
  link: {rate: 100Gbps, delay: 1us}
nics: {h0..h2: }
switches: {s0: {SETTINGS}, s1: {SETTINGS}}
links:
  - endpoints: [h0..h1, s0]
  - endpoints: [s0, s1]
  - endpoints: [h2, s1]
`

// switchOf returns the configuration of s0 with the given settings, and the rack's BDP.
func switchOf(t *testing.T, settings string) (switching.Config, unit.Bytes) {
	t.Helper()
	s, err := scenariofile.Parse("f", []byte(strings.ReplaceAll(star, "SETTINGS", settings)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return r.switchConfig(3), routes.NewPaths(s, s.PortMap()).BDP()
}

// TRIM-6: limits reach the switch in bytes, and it knows which of its ports lead to hosts.
func TestLimitsOfQueues(t *testing.T) {
	c, bdp := switchOf(t, "pfc: off, trim: on, trim_size: 128B, trim_policy: htsim")
	want := switching.QueueConfig{Limit: bdp, LastHop: bdp * 3 / 2, Trim: switching.TrimConfig{
		On: true, Size: 128, DSCP: 40, DSCPLastHop: 41, Policy: switching.TrimHTSim,
	}}
	if got := c.Classes[3].Queue; got != want {
		t.Errorf("class 3: %+v, want %+v", got, want)
	}
	if got := c.Classes[5].Queue; got != (switching.QueueConfig{Limit: bdp}) || c.DSCP[40] != 5 || c.DSCP[41] != 5 {
		t.Errorf("class 5: %+v, DSCP 40 and 41 in class %d and %d", got, c.DSCP[40], c.DSCP[41])
	}
	for i, lastHop := range []bool{true, true, false} {
		if c.Ports[i].LastHop != lastHop {
			t.Errorf("port %d: last hop %v", i, c.Ports[i].LastHop)
		}
	}
	if c, _ := switchOf(t, "trim: on, queue_limit: 1bdp"); c.Classes[3].Queue != (switching.QueueConfig{}) || !c.Classes[3].Lossless {
		t.Errorf("with PFC: %+v", c.Classes[3])
	}
}

// TRIM-12: the law bdp is RED between shares of the BDP.
func TestMarkingLawBDP(t *testing.T) {
	c, bdp := switchOf(t, "marking: {3: bdp, 1: bdp}")
	for _, class := range []int{1, 3} {
		k := c.Classes[class]
		near := func(got unit.Bytes, share float64) bool { return math.Abs(float64(got)-share*float64(bdp)) <= 1 }
		if k.Marking != cc.MarkRED || !near(k.RED.Kmin, 0.2) || !near(k.RED.Kmax, 0.8) || k.RED.Pmax != 1 {
			t.Errorf("class %d: %s, %+v, BDP %v", class, k.Marking, k.RED, bdp)
		}
	}
	if c, bdp := switchOf(t, "marking: {3: bdp}, bdp_kmin: 0.5, bdp_kmax: 0.5, bdp_pmax: 0.9"); c.Classes[3].RED != (switching.REDConfig{Kmin: bdp / 2, Kmax: bdp / 2, Pmax: 0.9}) {
		t.Errorf("deterministic: %+v", c.Classes[3].RED)
	}
}

// RCCC-5: under rccc, ports that lead to hosts do not mark, and all others do. Under other schemes all mark, unless
// the scenario turns it off.
func TestMarkingAtTheLastHop(t *testing.T) {
	for _, c := range []struct {
		settings, scheme string
		marks            bool // the last hop
	}{
		{"", "rccc", false},
		{"marking_lasthop: on", "rccc", true},
		{"", "nscc", true},
		{"", "dcqcn", true},
		{"marking_lasthop: off", "dcqcn", false},
		{"marking_lasthop: scheme", "mrc", true},
	} {
		s, err := scenariofile.Parse("f", []byte(strings.ReplaceAll(strings.Replace(star, "dcqcn", c.scheme, 1), "SETTINGS", c.settings)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		config := r.switchConfig(3)
		for i, p := range config.Ports {
			if want := p.LastHop && !c.marks; p.Unmarked != want || config.Classes[3].Marking != cc.MarkRED {
				t.Errorf("%s, %q: port %d: unmarked %t, law %s", c.scheme, c.settings, i, p.Unmarked, config.Classes[3].Marking)
			}
		}
	}
}
