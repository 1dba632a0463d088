// Package memory tells a collector of a rack that runs in one process: for each
// node what the node's own process would tell. It drives nothing.
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

// Teller tells of one run; a nil one tells nothing.
type Teller struct {
	conn   *grpc.ClientConn
	sender *telemetry.Sender
	nodes  []*telemetry.Node
}

// Attach has the collector at address told, by who, nil for plain TCP, of a run that
// has not begun: it takes l.Listen and l.Follow. Close ends it. The error is about
// the address or what is asked for.
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

// Finish ends everything at the end of the run and hands it to the collector, two
// seconds at most; what it has not taken then is dropped.
func (t *Teller) Finish(end unit.Time) {
	if t == nil {
		return
	}
	for _, n := range t.nodes {
		n.Finish(end)
	}
	t.sender.Flush()
}

// Counts says what became of everything.
func (t *Teller) Counts() *rackfabv1.TelemetryCounts {
	if t == nil {
		return nil
	}
	return t.sender.Counts()
}

// Close ends the telling.
func (t *Teller) Close() {
	if t == nil {
		return
	}
	t.sender.Close()
	_ = t.conn.Close() // nothing is left to be said
}
