package lab_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// trimmingRack returns the rack without PFC, with random short egress queues at switches that trim.
func trimmingRack(t *rapid.T, s *topology.Scenario) *topology.Scenario {
	limit := func(label string) *topology.Extent {
		return &topology.Extent{Bytes: unit.Bytes(rapid.SampledFrom([]int{0, 2000, 4000, 20_000}).Draw(t, label))}
	}
	bounds, trimmed, dropped := [2]*topology.Extent{limit("limit"), limit("limit at the last hop")}, limit("limit of trimmed packets"), rapid.IntRange(0, 4).Draw(t, "trim") == 0
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.NIC.Timeout = 200 * unit.Microsecond
		n.NIC.Recovery = rapid.SampledFrom([]cc.Recovery{cc.RecoverySelective, cc.RecoveryGoBackN, cc.RecoveryScheme}).Draw(t, "recovery")
		if n.Kind != topology.Switch {
			continue
		}
		q := &n.Switch.Queues
		q.PFC, q.Trim, q.Limit, q.LimitLastHop = topology.Off, topology.On, bounds[0], bounds[1]
		if dropped {
			q.Trim = topology.Off
		}
		q.TrimPolicy = rapid.SampledFrom([]string{"arriving", "htsim"}).Draw(t, "policy")
		n.Switch.Classes[topology.TrimmedClass].QueueLimit = trimmed
	}
	s.Duration, s.Bin = unit.Second, unit.Second
	built, err := scenariofile.Override(s, scenariofile.Overrides{Duration: unit.Second - 1})
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// TRIM-9: at every instant of a random rack that trims, each byte that came into a switch was sent,
// is queued, was cut off or was dropped, and each of these is counted. Every message finishes under
// every scheme. The lab records the same notes as the slow one.
func TestBytesAreConservedWithTrimming(t *testing.T) {
	trimmed, dropped := 0, 0
	draw := func(rt *rapid.T) *topology.Scenario { return trimmingRack(rt, randomRack(rt)) }
	onRandomRacks(t, draw, func(t rapid.TB, s *topology.Scenario) {
		c := newCensus(t, s)
		end := c.finish(t, c)
		trimmed, dropped = trimmed+c.trimmed, dropped+c.dropped
		c.sameNotes(t, end)
	}, func() string {
		if trimmed > 0 && dropped > 0 {
			return ""
		}
		return fmt.Sprintf("%d frames trimmed, %d dropped, want some of each", trimmed, dropped)
	})
}

// slowPaths draws a rack of several paths between switches, at a tenth of the rate of the hosts, under a
// scheme that trims.
func slowPaths(t *rapid.T) *topology.Scenario {
	s := manyPaths(t)
	for i := range s.Links {
		if l := &s.Links[i]; s.Nodes[l.A].Kind == s.Nodes[l.B].Kind {
			l.Rate = 4 * unit.GigabitPerSec
		}
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		f.Size, f.Class = f.Size+20*unit.Kilobyte, topology.DataClass
	}
	s.Scheme = rapid.SampledFrom([]string{"mrc", "nscc", "rccc"}).Draw(t, "scheme that trims")
	return trimmingRack(t, s)
}

// TRIM-9, PATH-12: the same where switches choose among several paths, by most of the six choices, to
// slow links, one of which fails.
func TestBytesAreConservedWithTrimmingOnSeveralPaths(t *testing.T) {
	trimmed := map[balance.Choice]int{} // by the choice of the first switch
	onRandomRacks(t, slowPaths, func(t rapid.TB, s *topology.Scenario) {
		c := newCensus(t, s)
		end := c.finish(t, c)
		if c.trimmed > 0 {
			for _, n := range s.NodesOf(topology.Switch) {
				trimmed[n.Switch.Routing] += c.trimmed
				break
			}
		}
		c.sameNotes(t, end)
	}, func() string {
		if len(trimmed) >= 4 {
			return ""
		}
		return fmt.Sprintf("frames trimmed by choice: %v, want four choices", trimmed)
	})
}
