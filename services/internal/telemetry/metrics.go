// Package telemetry turns the notes of a node into what the formats of OpenTelemetry
// say, and hands it to a collector. It knows no machine.
package telemetry

// MetricID names one of Metrics.
type MetricID uint8

// The metrics that a Meter makes from notes.
const (
	PortQueue MetricID = iota
	PortQueueMax
	PortSent
	PortPauses
	PortPaused
	PortMarks
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

// Metric is what a time series tells.
type Metric struct {
	Name    string
	Unit    string // UCUM, but "ps" for picoseconds and "bit/s"
	Delta   bool   // a point is how much there was in its span, else how it stood at the span's end
	Per     string // the attributes that tell its series apart, beside rackfab.node
	Meaning string
}

// Metrics lists every metric by its MetricID. A span in which nothing of the kind
// happened has no point: a delta is 0 then, a gauge is as it was.
var Metrics = [metricsEnd]Metric{
	PortQueue:     {"rackfab.port.queue", "By", false, "port, peer", "egress queue of the port at the end of the span, all classes together"},
	PortQueueMax:  {"rackfab.port.queue.max", "By", false, "port, peer", "the most that the egress queue held in the span"},
	PortSent:      {"rackfab.port.sent", "By", true, "port, peer", "bytes of frames whose transmission began; without link overhead, and without the PFC frames of a switch"},
	PortPauses:    {"rackfab.port.pauses", "{frame}", true, "port, peer", "PAUSE frames that the node sent to the peer"},
	PortPaused:    {"rackfab.port.paused", "ps", true, "port, peer", "how long the peer held at least one class of the port"},
	PortMarks:     {"rackfab.port.marks", "{frame}", true, "port, peer", "frames that a switch marked with congestion experienced as they left by the port"},
	PortDrops:     {"rackfab.port.drops", "{frame}", true, "port, peer, reason", "frames that came in by the port and were lost, or were lost on its link"},
	FlowRate:      {"rackfab.flow.rate", "bit/s", false, "flow", "rate that congestion control allows at the end of the span; of a burst, the sum over its flows at the node that go on"},
	FlowSent:      {"rackfab.flow.sent", "By", true, "flow", "bytes that the flow's sender put on the link, link overhead included"},
	FlowDelivered: {"rackfab.flow.delivered", "By", true, "flow", "payload delivered to the flow's receiver, in order"},
	CreditGranted: {"rackfab.credit.granted", "By", true, "peer", "credit that the node granted to the sender `peer`"},
	CreditWasted:  {"rackfab.credit.wasted", "By", true, "peer", "credit of the receiver `peer` that the node could not spend"},
	Tokens:        {"rackfab.tokens", "By", false, "direction", "what the head bucket of the NIC's shaper holds at the end of the span"},
	TokensStalled: {"rackfab.tokens.stalled", "ps", true, "direction", "how long classes waited for nothing but tokens, summed over requests and responses"},
}

// Epoch is the Unix instant at which instant 0 of every run is put, in ns:
// 2020-01-01T00:00:00Z. Equal runs have equal times.
const Epoch int64 = 1577836800_000_000_000
