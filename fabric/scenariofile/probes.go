package scenariofile

import (
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
)

// checkProbes checks the intervals of RTT probes, and that some flow uses them. It reports
// each key once.
func (b *builder) checkProbes() {
	measured, reported := measuresRTT(&b.s), map[place]bool{}
	for i, n := range b.s.NodesOf(topology.NIC) {
		at, every := b.nodes[i].of("rtt_probe"), n.NIC.RTTProbe
		if every == 0 || reported[at] {
			continue
		}
		reported[at] = true
		b.require(every >= cc.ShortestProbe, at, "%s is too short, want 0 or at least %s", every, cc.ShortestProbe)
		b.require(measured, at, "the scheme %s does not measure the RTT, want one of %s, or 0", b.s.Scheme, rttSchemes())
	}
}

// measuresRTT reports whether the scheme of the scenario, or one that a change switches to,
// measures the RTT.
func measuresRTT(s *topology.Scenario) bool {
	uses := func(name string) bool {
		scheme, err := cc.Find(name)
		return err == nil && scheme.Timestamps
	}
	return uses(s.Scheme) || slices.ContainsFunc(s.Changes, func(c topology.Change) bool {
		return c.Verb == topology.ChangeScheme && uses(c.Scheme.Name)
	})
}

// rttSchemes returns the names of the schemes that measure the RTT.
func rttSchemes() string {
	var names []string
	for _, s := range cc.Schemes {
		if s.Timestamps {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}
