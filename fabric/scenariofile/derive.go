package scenariofile

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Scenarios derived from others: with other settings, and for a live run.

// Overrides are the settings that a command line changes. A zero field, or a nil
// pointer, changes nothing.
type Overrides struct {
	Scheme   string
	Seed     *uint64
	Duration unit.Time
}

// Override returns the scenario with those settings, validated again, and with everything
// that depends on the seed drawn again. It returns s itself if they change nothing. The error is a *Faults
// without lines.
func Override(s *topology.Scenario, o Overrides) (*topology.Scenario, error) {
	if (o.Scheme == "" || o.Scheme == s.Scheme) && (o.Seed == nil || *o.Seed == s.Seed) && (o.Duration == 0 || o.Duration == s.Duration) {
		return s, nil // large racks take seconds to encode and to parse
	}
	changed := *s
	if o.Scheme != "" {
		changed = *Under(s, o.Scheme)
	}
	if o.Seed != nil {
		changed.Seed = *o.Seed
	}
	if o.Duration != 0 {
		changed.Duration = o.Duration
	}
	return renew(&changed)
}

// Variant returns variant k of the scenario; see Scenario.Draw.
func Variant(s *topology.Scenario, k int, most unit.Time) (*topology.Scenario, error) {
	if k == 0 {
		return s, nil
	}
	return renew(s.Drawn(k, most))
}

// renew encodes the scenario and parses the result.
func renew(s *topology.Scenario) (*topology.Scenario, error) {
	text, err := encode(s)
	if err != nil {
		return nil, err
	}
	b := newBuilder()
	if root := b.document(text); root != nil {
		b.build(root)
	}
	for i := range b.list {
		b.list[i].Line = 0
	}
	return b.result(manifestName)
}

// Under returns the scenario under another scheme. It drops settings that the other
// scheme does not use at all: D where no switch uses it, and RTT probes if no flow measures
// the RTT.
func Under(s *topology.Scenario, scheme string) *topology.Scenario {
	c := *s
	c.Scheme, c.Nodes = scheme, slices.Clone(s.Nodes)
	for _, i := range idleIncrements(&c) {
		c.Nodes[i].Switch.RTTX.D = topology.DefaultIncrement
	}
	if !measuresRTT(&c) {
		for i := range c.Nodes {
			c.Nodes[i].NIC.RTTProbe = 0
		}
	}
	state := newState(resume(&c))
	c.Changes = nil
	for _, one := range s.Changes {
		state.Apply(&one)
		if _, leaf := cut(one.Set.Key); leaf != "rttx_d" || len(state.Tunings) > 0 {
			c.Changes = append(c.Changes, one)
		}
	}
	return &c
}

// ForLiveRun returns the scenario as a live run uses it: it lasts until the end of
// fabric time. The error is a *Faults without lines.
func ForLiveRun(s *topology.Scenario) (*topology.Scenario, error) {
	live := *s
	live.Live, live.Duration = true, topology.LongestRun
	live.Workloads = slices.Clone(s.Workloads)
	for i := range live.Workloads { // their arrivals end as in the batch run
		live.Workloads[i].Until = s.ArrivalsEnd(&s.Workloads[i])
	}
	live.Bin = max(live.Bin, topology.LongestRun/maxBins)
	return renew(&live)
}
