package health

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric describes a metric. Names follow the Prometheus conventions: base units, and
// the suffix _total for counters.
type Metric struct {
	Name      string
	Processes string // the processes that export it
	Help      string
	Labels    []string
}

// counter reports whether the metric is a counter, not a gauge.
func (m *Metric) counter() bool { return strings.HasSuffix(m.Name, "_total") }

func (m *Metric) description() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}

// Catalogue lists every metric.
var Catalogue []*Metric

// The metrics of a process. Counters count from the start of the process.
var (
	RunsTotal               = define("rackfab_runs_total", "node, controller", "Runs in which the process took part.")
	Grants                  = define("rackfab_grants_total", "node, controller", "Grants of live runs.")
	Recoveries              = define("rackfab_recoveries_total", "controller", "Losses of processes from which runs began to recover.")
	FabricTime              = define("rackfab_fabric_time_seconds", "node, controller", "Fabric time that the current or latest run has reached.")
	FrameHops               = define("rackfab_frame_hops_total", "node", "Frames received on links of the nodes.")
	Wakeups                 = define("rackfab_wakeups_total", "node", "Iterations of the loop.")
	EnvelopesSent           = define("rackfab_envelopes_sent_total", "node", "Envelopes sent on the bus, including resent ones.")
	EnvelopesResent         = define("rackfab_envelopes_resent_total", "node", "Envelopes resent because a peer missed them.")
	EnvelopesMissed         = define("rackfab_envelopes_missed_total", "node", "Gaps in the sequence of envelopes, each answered by a request to resend.")
	EnvelopesStray          = define("rackfab_envelopes_stray_total", "node", "Messages on the node's subjects that are invalid or belong to no link of the run.")
	BusReconnects           = define("rackfab_bus_reconnects_total", "node, controller", "Reconnections to the bus.")
	Calls                   = define("rackfab_grpc_calls_total", "node, controller, collector", "Calls answered by the gRPC server.", "method", "code")
	TelemetryQueued         = define("rackfab_telemetry_queue_items", "node", "Spans or points queued for the collector.", "signal")
	TelemetrySent           = define("rackfab_telemetry_sent_total", "node", "Spans or points confirmed by the collector.", "signal")
	TelemetryDropped        = define("rackfab_telemetry_dropped_total", "node", "Spans or points dropped.", "signal", "reason")
	BusConnections          = define("rackfab_bus_connections", "bus", "Connections to the bus.")
	BusMessages             = define("rackfab_bus_messages_total", "bus", "Messages received and sent by the bus.", "direction")
	BusBytes                = define("rackfab_bus_bytes_total", "bus", "Bytes of messages received and sent by the bus.", "direction")
	BusSlowConsumers        = define("rackfab_bus_slow_consumers_total", "bus", "Connections closed by the bus because the client was too slow.")
	BusServers              = define("rackfab_bus_servers", "bus", "Other servers of the cluster that the bus is connected to.")
	BusServerMessages       = define("rackfab_bus_server_messages_total", "bus", "Messages among the above that other servers of the cluster sent or received.", "direction")
	CollectorReceived       = define("rackfab_collector_received_total", "collector", "Spans or points received since the store was created.", "signal")
	CollectorStored         = define("rackfab_collector_stored_total", "collector", "Spans or points stored since the store was created.", "signal")
	CollectorRejected       = define("rackfab_collector_rejected_total", "collector", "Spans or points rejected individually since the store was created.", "signal")
	CollectorQueued         = define("rackfab_collector_queue_requests", "collector", "Requests waiting to be stored.")
	CollectorRefused        = define("rackfab_collector_refused_requests_total", "collector", "Requests rejected because the queue was full or the store could not be written.")
	CollectorForwardDropped = define("rackfab_collector_forward_dropped_requests_total", "collector", "Requests not forwarded.")
	CollectorDisk           = define("rackfab_collector_disk_bytes", "collector", "Size of the store on disk.")
	CollectorDamaged        = define("rackfab_collector_damaged_runs", "collector", "Runs ignored at the start because their files are damaged.")
)

// define adds a metric to the catalogue.
func define(name, processes, help string, labels ...string) *Metric {
	m := &Metric{name, processes, help, labels}
	Catalogue = append(Catalogue, m)
	return m
}
