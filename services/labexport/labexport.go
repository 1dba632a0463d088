// Package memory exports the telemetry of a rack that runs in one process: for each
// node what the node's own process would export. It does not drive the run.
package memory

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

// Teller exports the telemetry of one run; a nil Teller exports nothing.
type Teller struct {
	conn   *grpc.ClientConn
	sender *telemetry.Sender
	nodes  []*telemetry.Node
}

// Attach exports the telemetry of a run that has not begun to the collector at
// address. who is the identity of the exporter, nil for plain TCP. Attach sets
// l.Listen and l.Follow. Close ends the export. Attach returns an error if the
// address or the requested sample is invalid.
func Attach(l *lab.Lab, address string, who *identity.TLS, asked *rackfabv1.Telemetry) (*Teller, error) {
	s := l.Scenario()
	follow, err := tracing.Follow(s, asked.GetSampleRatio(), asked.GetSampleFlows(), nil)
	if err != nil {
		return nil, fmt.Errorf("flows to sample: %w", err)
	}
	conn, err := telemetry.Dial(address, who)
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	t := &Teller{conn: conn, sender: telemetry.NewSender(conn, len(s.Nodes))}
	for i := range s.Nodes {
		t.nodes = append(t.nodes, t.sender.Node(asked.GetRun(), asked, s, i, fabric.Sampling{Every: s.Bin, End: s.Duration}, follow))
	}
	l.Follow = follow
	l.Listen = func(node int, notes []fabric.Note) { t.nodes[node].Observe(notes) }
	return t, nil
}

// Finish ends all series and spans at the end of the run and sends them to the
// collector. It takes two seconds at most, and drops what is not sent by then.
func (t *Teller) Finish(end unit.Time) {
	if t == nil {
		return
	}
	for _, n := range t.nodes {
		n.Finish(end)
	}
	t.sender.Flush()
}

// Counts returns how much was exported and dropped; nil for a nil Teller.
func (t *Teller) Counts() *rackfabv1.TelemetryCounts {
	if t == nil {
		return nil
	}
	return t.sender.Counts()
}

// Close ends the export and closes the connection to the collector.
func (t *Teller) Close() {
	if t == nil {
		return
	}
	t.sender.Close()
	_ = t.conn.Close() // there is nothing left to send
}
