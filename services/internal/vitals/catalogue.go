// Package vitals exports the state of a process of a rack, in wall time, to
// Prometheus: it has the catalogue of metrics and the endpoint. It knows no service;
// a service provides its counters as a Source. A process that does not serve the
// endpoint creates no metric and needs no memory for them.
package vitals

// ID is the index of a metric in Catalogue.
type ID int

// The metrics of a process.
const (
	Runs ID = iota
	Grants
	FabricTime
	FrameHops
	Wakeups
	EnvelopesSent
	EnvelopesResent
	EnvelopesMissed
	EnvelopesStray
	BusReconnects
	Calls
	TelemetryQueued
	TelemetrySent
	TelemetryDropped
	BusConnections
	BusMessages
	BusBytes
	BusSlowConsumers
	CollectorReceived
	CollectorStored
	CollectorRejected
	CollectorQueued
	CollectorRefused
	CollectorForwardDropped
	CollectorDisk
	CollectorDamaged
	catalogueEnd
)

// Entry describes a metric. Names follow the Prometheus conventions: base units, and
// the suffix _total for counters.
type Entry struct {
	Name    string
	Counter bool // else a gauge
	Labels  []string
	Who     string // the processes that export it
	Help    string
}

// Catalogue lists every metric by its ID. Counters count from the start of the
// process.
var Catalogue = [catalogueEnd]Entry{
	Runs:                    {"rackfab_runs_total", true, nil, "node, controller", "Runs that the process has taken part in."},
	Grants:                  {"rackfab_grants_total", true, nil, "node, controller", "Grants of live runs."},
	FabricTime:              {"rackfab_fabric_time_seconds", false, nil, "node, controller", "Fabric time that the present or latest run has reached."},
	FrameHops:               {"rackfab_frame_hops_total", true, nil, "node", "Frames taken from links."},
	Wakeups:                 {"rackfab_wakeups_total", true, nil, "node", "Rounds of the node's loop."},
	EnvelopesSent:           {"rackfab_envelopes_sent_total", true, nil, "node", "Envelopes sent on the bus, resends included."},
	EnvelopesResent:         {"rackfab_envelopes_resent_total", true, nil, "node", "Envelopes sent again because a peer missed them."},
	EnvelopesMissed:         {"rackfab_envelopes_missed_total", true, nil, "node", "Times that an envelope was missed and asked for."},
	EnvelopesStray:          {"rackfab_envelopes_stray_total", true, nil, "node", "Messages on the node's subjects that belong to no link or to another run."},
	BusReconnects:           {"rackfab_bus_reconnects_total", true, nil, "node, controller", "Times that a lost connection to the bus was taken up again."},
	Calls:                   {"rackfab_grpc_calls_total", true, []string{"method", "code"}, "node, controller, collector", "Calls that the gRPC server has answered."},
	TelemetryQueued:         {"rackfab_telemetry_queue_items", false, []string{"signal"}, "node", "Spans or points that wait for the collector."},
	TelemetrySent:           {"rackfab_telemetry_sent_total", true, []string{"signal"}, "node", "Spans or points that the collector has confirmed."},
	TelemetryDropped:        {"rackfab_telemetry_dropped_total", true, []string{"signal", "reason"}, "node", "Spans or points that were lost."},
	BusConnections:          {"rackfab_bus_connections", false, nil, "bus", "Connections to the bus."},
	BusMessages:             {"rackfab_bus_messages_total", true, []string{"direction"}, "bus", "Messages that came in to the bus and went out."},
	BusBytes:                {"rackfab_bus_bytes_total", true, []string{"direction"}, "bus", "Bytes of messages that came in to the bus and went out."},
	BusSlowConsumers:        {"rackfab_bus_slow_consumers_total", true, nil, "bus", "Connections that the bus cut off because they were slow."},
	CollectorReceived:       {"rackfab_collector_received_total", true, []string{"signal"}, "collector", "Spans or points that came in, since the store was made."},
	CollectorStored:         {"rackfab_collector_stored_total", true, []string{"signal"}, "collector", "Spans or points that were stored, since the store was made."},
	CollectorRejected:       {"rackfab_collector_rejected_total", true, []string{"signal"}, "collector", "Spans or points that were refused one by one, since the store was made."},
	CollectorQueued:         {"rackfab_collector_queue_requests", false, nil, "collector", "Requests that wait to be stored."},
	CollectorRefused:        {"rackfab_collector_refused_requests_total", true, nil, "collector", "Requests that were refused because the queue was full or the store could not be written."},
	CollectorForwardDropped: {"rackfab_collector_forward_dropped_requests_total", true, nil, "collector", "Requests that were not forwarded."},
	CollectorDisk:           {"rackfab_collector_disk_bytes", false, nil, "collector", "Bytes that the store has on disk."},
	CollectorDamaged:        {"rackfab_collector_damaged_runs", false, nil, "collector", "Runs in the folder that are left out because their files are damaged, as of the start."},
}

// Source reports values by calling put, with the values of the entry's labels in
// their order. The endpoint calls it from its own goroutines.
type Source func(put func(id ID, value float64, labels ...string))
