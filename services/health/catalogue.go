package health

import "strings"

// ID is the index of a metric in Catalogue.
type ID int

// The metrics of a process.
const (
	RunsTotal ID = iota
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
	Name      string
	Labels    []string
	Processes string // the processes that export it
	Help      string
}

// counter reports whether the metric is a counter, not a gauge.
func (e *Entry) counter() bool { return strings.HasSuffix(e.Name, "_total") }

// Catalogue lists every metric by its ID. Counters count from the start of the
// process.
var Catalogue = [catalogueEnd]Entry{
	RunsTotal:               {"rackfab_runs_total", nil, "node, controller", "Runs in which the process took part."},
	Grants:                  {"rackfab_grants_total", nil, "node, controller", "Grants of live runs."},
	FabricTime:              {"rackfab_fabric_time_seconds", nil, "node, controller", "Fabric time that the current or latest run has reached."},
	FrameHops:               {"rackfab_frame_hops_total", nil, "node", "Frames received on links."},
	Wakeups:                 {"rackfab_wakeups_total", nil, "node", "Iterations of the node's loop."},
	EnvelopesSent:           {"rackfab_envelopes_sent_total", nil, "node", "Envelopes sent on the bus, including resent ones."},
	EnvelopesResent:         {"rackfab_envelopes_resent_total", nil, "node", "Envelopes resent because a peer missed them."},
	EnvelopesMissed:         {"rackfab_envelopes_missed_total", nil, "node", "Gaps in the sequence of envelopes, each answered by a request to resend."},
	EnvelopesStray:          {"rackfab_envelopes_stray_total", nil, "node", "Messages on the node's subjects that are invalid or belong to no link of the run."},
	BusReconnects:           {"rackfab_bus_reconnects_total", nil, "node, controller", "Reconnections to the bus."},
	Calls:                   {"rackfab_grpc_calls_total", []string{"method", "code"}, "node, controller, collector", "Calls answered by the gRPC server."},
	TelemetryQueued:         {"rackfab_telemetry_queue_items", []string{"signal"}, "node", "Spans or points queued for the collector."},
	TelemetrySent:           {"rackfab_telemetry_sent_total", []string{"signal"}, "node", "Spans or points confirmed by the collector."},
	TelemetryDropped:        {"rackfab_telemetry_dropped_total", []string{"signal", "reason"}, "node", "Spans or points dropped."},
	BusConnections:          {"rackfab_bus_connections", nil, "bus", "Connections to the bus."},
	BusMessages:             {"rackfab_bus_messages_total", []string{"direction"}, "bus", "Messages received and sent by the bus."},
	BusBytes:                {"rackfab_bus_bytes_total", []string{"direction"}, "bus", "Bytes of messages received and sent by the bus."},
	BusSlowConsumers:        {"rackfab_bus_slow_consumers_total", nil, "bus", "Connections closed by the bus because the client was too slow."},
	CollectorReceived:       {"rackfab_collector_received_total", []string{"signal"}, "collector", "Spans or points received since the store was created."},
	CollectorStored:         {"rackfab_collector_stored_total", []string{"signal"}, "collector", "Spans or points stored since the store was created."},
	CollectorRejected:       {"rackfab_collector_rejected_total", []string{"signal"}, "collector", "Spans or points rejected individually since the store was created."},
	CollectorQueued:         {"rackfab_collector_queue_requests", nil, "collector", "Requests waiting to be stored."},
	CollectorRefused:        {"rackfab_collector_refused_requests_total", nil, "collector", "Requests rejected because the queue was full or the store could not be written."},
	CollectorForwardDropped: {"rackfab_collector_forward_dropped_requests_total", nil, "collector", "Requests not forwarded."},
	CollectorDisk:           {"rackfab_collector_disk_bytes", nil, "collector", "Size of the store on disk."},
	CollectorDamaged:        {"rackfab_collector_damaged_runs", nil, "collector", "Runs ignored at the start because their files are damaged."},
}
