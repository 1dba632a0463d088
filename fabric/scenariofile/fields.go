package scenariofile

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Limits of the quantities. They keep sums of times, sizes and rates far below 63
// bits.
const (
	shortest = unit.Nanosecond
	longest  = topology.LongestRun
	furthest = unit.Second // of a link
	largest  = 1000 * 1000 * unit.Megabyte
	slowest  = unit.KilobitPerSec
	fastest  = 10000 * unit.GigabitPerSec
	bigFrame = 65536 * unit.Byte
	// leastOverhead leaves 16 bytes of the shortest frame.
	leastOverhead = -48 * unit.Byte
)

// mostPayload is the largest payload of whole words that a NIC sends in one packet, in
// bytes.
const mostPayload = frame.MaxPayload / topology.PayloadWord * topology.PayloadWord

// form is a scenario file: its top-level settings, and its sections.
type form struct {
	topology.Scenario
	defaults, nics, switches, links, flows, bursts, workloads, commands, schemes, changes *yaml.Node
}

// defaultsForm is the section defaults.
type defaultsForm struct{ nic, sw, link *yaml.Node }

// linkForm is one entry of links: every name of one end is joined to every name of
// the other.
type linkForm struct {
	ends [2][]string
	topology.Link
}

// flowForm is one entry of flows.
type flowForm struct {
	topology.Flow
	from, to string
}

func newFlowForm() flowForm {
	return flowForm{Flow: topology.Flow{Class: topology.DataClass, Burst: -1}}
}

// burstForm is one entry of bursts.
type burstForm struct {
	topology.BurstSpec
	at unit.Time
}

func newBurstForm() burstForm { return burstForm{BurstSpec: defaultBurst()} }

var topFields = []field[form]{
	fixed(required(of("name", "name of the scenario", identifier, func(f *form) *string { return &f.Name }))),
	of("seed", "seed of every random choice", integer[uint64](0, 1<<64-1), func(f *form) *uint64 { return &f.Seed }),
	required(of("duration", "fabric time that the run covers", times.from(shortest, longest), func(f *form) *unit.Time { return &f.Duration })),
	of("bin", "bin width of recorded series", times.from(shortest, longest), func(f *form) *unit.Time { return &f.Bin }),
	fixed(of("compare", "schemes that `run` compares by default", schemeNames.omit(isEmpty), func(f *form) *[]string { return &f.Compare })),
	fixed(of("vary", "a setting, as for `rackfab sweep --set`, and the values that `run` compares", vary, func(f *form) *topology.Vary { return &f.Vary })),
	of("scheme", "congestion control of all flows", schemeName, func(f *form) *string { return &f.Scheme }),
	of("dscp", "traffic class of IP code points at NICs and switches, like {10: 1}; by default 26 is in class 3, 8c in class c, and all others in class 0", codePoints, func(f *form) *[]topology.CodePoint { return &f.DSCP }),
	sectionField("defaults", "settings of all NICs, switches and links", nil, func(f *form) **yaml.Node { return &f.defaults }),
	required(sectionField("nics", "NICs by name or range, each with its settings; a key that repeats declared names overrides their settings", nil, func(f *form) **yaml.Node { return &f.nics })),
	sectionField("switches", "switches by name or range, like nics", nil, func(f *form) **yaml.Node { return &f.switches }),
	required(sectionField("links", "links between nodes; they number the ports of each node in this order", nil, func(f *form) **yaml.Node { return &f.links })),
	sectionField("flows", "messages from one NIC to another", nil, func(f *form) **yaml.Node { return &f.flows }),
	sectionField("bursts", "groups of flows that start together (incast)", nil, func(f *form) **yaml.Node { return &f.bursts }),
	sectionField("workloads", "flows with random sizes, start times, senders and receivers", nil, func(f *form) **yaml.Node { return &f.workloads }),
	sectionField("commands", "commands that hosts post to their NICs: PUT, GET, SEND and atomics", nil, func(f *form) **yaml.Node { return &f.commands }),
	sectionField("changes", "changes to the running rack, each with its instant", nil, func(f *form) **yaml.Node { return &f.changes }),
	fixed(of("live", "whether this is the journal of a live run: flows and changes may lie after its end", boolean.omit(isZero), func(f *form) *bool { return &f.Live })),
	sectionField("schemes", "parameters of the schemes", nil, func(f *form) **yaml.Node { return &f.schemes }),
}

var defaultsFields = []field[defaultsForm]{
	sectionField("nic", "settings of all NICs", reference("nic"), func(f *defaultsForm) **yaml.Node { return &f.nic }),
	sectionField("switch", "settings of all switches", reference("switch"), func(f *defaultsForm) **yaml.Node { return &f.sw }),
	sectionField("link", "settings of all links", reference("link"), func(f *defaultsForm) **yaml.Node { return &f.link }),
}

var linkFields = append([]field[linkForm]{required(of("endpoints", "the two ends; every name of the first is linked to every name of the second", endpoints, func(l *linkForm) *[2][]string { return &l.ends }))},
	lift(linkSettings, func(l *linkForm) *topology.Link { return &l.Link })...)

var flowFields = []field[flowForm]{
	fixed(required(of("name", "name of the flow", identifier, func(f *flowForm) *string { return &f.Name }))),
	required(of("from", "NIC that sends", identifier, func(f *flowForm) *string { return &f.from })),
	required(of("to", "NIC that receives", identifier, func(f *flowForm) *string { return &f.to })),
	required(of("size", "size of the message", messageSize, func(f *flowForm) *unit.Bytes { return &f.Size })),
	of("start", "when the flow is ready to send", times.from(0, longest), func(f *flowForm) *unit.Time { return &f.Start }),
	of("initial_rate", "rate at which the flow begins, 0 for line rate", rates.from(0, fastest).omit(isZero), func(f *flowForm) *unit.Rate { return &f.Initial }),
	of("class", "traffic class of the flow", dataClass, func(f *flowForm) *fabric.Priority { return &f.Class }),
}

var burstFields = slices.Insert(lift(changeBurstFields, func(f *burstForm) *topology.BurstSpec { return &f.BurstSpec }), 5,
	required(of("at", "when the flows are ready to send", times.from(0, longest), func(f *burstForm) *unit.Time { return &f.at })))
