// Package labexport exports the telemetry of a run in the lab to a collector: for each
// node the spans and points that the node's own process would export. It does not drive
// the run.
package labexport

import (
	"fmt"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// Exporter exports the telemetry of one run; a nil Exporter exports nothing.
type Exporter struct {
	conn   *grpc.ClientConn
	sender *telemetry.Sender
	nodes  []*telemetry.Node
}

// Attach exports the telemetry of a run that has not begun to the collector at
// address. who is the identity of the exporter, nil for plain TCP. Attach sets
// l.Listen and l.Follow. Close ends the export. Attach returns an error if the
// address or the requested sample is invalid.
func Attach(l *lab.Lab, address string, who *identity.TLS, request *rackfabv1.Telemetry) (*Exporter, error) {
	s := l.Scenario()
	follow, err := tracing.Follow(s, request.GetSampleRatio(), request.GetSampleFlows(), nil)
	if err != nil {
		return nil, fmt.Errorf("flows to sample: %w", err)
	}
	conn, err := telemetry.Dial(address, who)
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	e := &Exporter{conn: conn, sender: telemetry.NewSender(conn, len(s.Nodes))}
	for i := range s.Nodes {
		e.nodes = append(e.nodes, e.sender.Node(request.GetRun(), request, s, i, fabric.Sampling{Every: s.Bin, End: s.Duration}, follow))
	}
	l.Follow = follow
	l.Listen = func(node int, notes []fabric.Note) { e.nodes[node].Observe(notes) }
	return e, nil
}

// Finish ends all series and spans at the end of the run and sends them to the
// collector. It takes two seconds at most, and drops what is not sent by then.
func (e *Exporter) Finish(end unit.Time) {
	if e == nil {
		return
	}
	for _, n := range e.nodes {
		n.Finish(end)
	}
	e.sender.Finish()
}

// Counts returns how much was exported and dropped; nil for a nil Exporter.
func (e *Exporter) Counts() *rackfabv1.TelemetryCounts {
	if e == nil {
		return nil
	}
	return e.sender.Counts()
}

// Close ends the export and closes the connection to the collector.
func (e *Exporter) Close() {
	if e == nil {
		return
	}
	e.sender.Finish()
	_ = e.conn.Close() // there is nothing left to send
}
