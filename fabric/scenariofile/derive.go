package scenariofile

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Scenarios derived from others: with other settings, for a live run, with one more change.

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
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Kind == topology.Switch && !c.Converts(i) {
			n.Switch.RTTX.D = topology.DefaultIncrement
		}
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

// Journal encodes a live run that has reached end, above 0, as the scenario file of a
// batch run with the same digest. bin is the minimum width of its recorded series.
func Journal(s *topology.Scenario, end, bin unit.Time) ([]byte, error) {
	batch := *s
	batch.Duration = end
	batch.Bin = max(min(bin, s.Bin), (end+maxBins-1)/maxBins)
	return Marshal(&batch)
}

// Extend returns a copy of the scenario with one more change, for a running rack. It
// accepts the changes that Parse accepts in a file. The error is a *Faults without
// lines, whose keys begin with "change".
func Extend(s *topology.Scenario, c topology.Change) (*topology.Scenario, error) {
	b := resume(s)
	changes.readEntry(b, item{written(changes.fields, &c), "change"})
	b.checkChanges()
	return b.result("change")
}

// Append is Extend for a change that Extend has accepted before, on another copy of the
// scenario. It checks only that the change's names exist.
func Append(s *topology.Scenario, c topology.Change) (*topology.Scenario, error) {
	b := resume(s)
	b.addChange(c, newSource("change", 0))
	return b.result("change")
}

// resume returns a builder that continues from the end of s. It shares no data with s
// that it modifies.
func resume(s *topology.Scenario) *builder {
	b := newBuilder()
	b.s = *s
	b.s.Flows, b.s.Bursts, b.s.Changes = slices.Clip(s.Flows), slices.Clip(s.Bursts), slices.Clip(s.Changes)
	b.s.Commands = slices.Clip(s.Commands)
	for i, n := range s.Nodes {
		b.index[n.Name] = i
	}
	for i := range s.Changes {
		b.changes = append(b.changes, place{key: fmt.Sprintf("changes[%d]", i)})
	}
	for _, f := range s.Flows {
		if f.Burst < 0 {
			b.named[f.Name] = place{key: "flows"}
		}
	}
	for _, burst := range s.Bursts {
		b.named[burst.Name] = place{key: "bursts"}
	}
	for _, c := range s.Commands {
		b.named[c.Name] = place{key: "commands"}
	}
	return b
}
