// Package telemetry converts the notes of a node to OpenTelemetry spans and points and
// exports them to a collector. It does not know how a node works.
package telemetry

// MetricID is an index into Metrics.
type MetricID uint8

// The metrics that a Meter makes from notes.
const (
	PortQueue MetricID = iota
	PortQueueMax
	PortSent
	PortPauses
	PortPaused
	PortReplayed
	PortMarks
	PortTrims
	PortDrops
	FlowRate
	FlowSent
	FlowDelivered
	CreditGranted
	CreditWasted
	Tokens
	TokensStalled
	metricsEnd
)

// Metric describes the time series of one kind.
type Metric struct {
	Name    string
	Unit    string // UCUM, but "ps" for picoseconds and "bit/s"
	Kind    MetricKind
	Per     string // the attributes that distinguish its series, besides the resource's rackfab.node
	Meaning string
}

// MetricKind says how a point relates to its sampling span, and what a missing point
// means.
type MetricKind uint8

// Kinds of metrics.
const (
	Level MetricKind = iota // value at the end of the span; without a point it is unchanged. A gauge
	Peak                    // maximum over the span; 0 without a point. A gauge
	Count                   // amount during the span; 0 without a point. A sum of deltas
)

// Metrics lists every metric by its MetricID.
var Metrics = [metricsEnd]Metric{
	PortQueue:     {"rackfab.port.queue", "By", Level, "port, peer", "length of the port's egress queue at the end of the span, all classes"},
	PortQueueMax:  {"rackfab.port.queue.max", "By", Peak, "port, peer", "maximum length of the egress queue in the span"},
	PortSent:      {"rackfab.port.sent", "By", Count, "port, peer", "bytes of frames whose transmission began, without link overhead, and without the PFC frames of a switch"},
	PortPauses:    {"rackfab.port.pauses", "{frame}", Count, "port, peer", "PAUSE frames that the node sent to the peer"},
	PortPaused:    {"rackfab.port.paused", "ps", Count, "port, peer", "how long the peer paused at least one class of the port"},
	PortReplayed:  {"rackfab.port.replayed", "{frame}", Count, "port, peer", "frames that the port had to replay on a link with retry, when each replay began"},
	PortMarks:     {"rackfab.port.marks", "{frame}", Count, "port, peer", "frames that a switch marked with CE at the egress port"},
	PortTrims:     {"rackfab.port.trims", "{frame}", Count, "port, peer", "frames that a switch trimmed because there was no room for them at the egress port"},
	PortDrops:     {"rackfab.port.drops", "{frame}", Count, "port, peer, reason", "frames received at the port that were dropped, or lost on its link"},
	FlowRate:      {"rackfab.flow.rate", "bit/s", Level, "flow", "CC rate limit at the end of the span; for a burst, the sum over its active flows at the node"},
	FlowSent:      {"rackfab.flow.sent", "By", Count, "flow", "bytes that the sender put on the link, including link overhead"},
	FlowDelivered: {"rackfab.flow.delivered", "By", Count, "flow", "payload delivered to the receiver, in order (by schemes that spray, in any order)"},
	CreditGranted: {"rackfab.credit.granted", "By", Count, "peer", "credit that the node granted to the sender `peer`"},
	CreditWasted:  {"rackfab.credit.wasted", "By", Count, "peer", "credit of the receiver `peer` that the node could not spend"},
	Tokens:        {"rackfab.tokens", "By", Level, "direction", "level of the head bucket of the NIC's shaper at the end of the span"},
	TokensStalled: {"rackfab.tokens.stalled", "ps", Count, "direction", "how long classes waited only for tokens, summed over requests and responses"},
}

// Epoch is the wall-clock time of instant 0 of every run, in ns since 1970:
// 2020-01-01T00:00:00Z. Equal runs have equal times.
const Epoch int64 = 1577836800_000_000_000
