package nodeservice

import (
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// snapshot is the state of the node in a run at an instant. It is immutable.
type snapshot struct {
	at       unit.Time     // of the earliest pending event, at most the grant
	result   runner.Result // of its process
	scenario *topology.Scenario
	index    int // of the node
	nic      nic.Stats
	sw       switching.Stats
	commands []*rackfabv1.CommandStats
}

// takeSnapshots takes and stores a snapshot of every node. Only the loop may call it once
// the loop runs.
func (r *run) takeSnapshots(at unit.Time, result *runner.Result) {
	scenario := r.scenario.Load()
	for _, n := range r.nodes {
		s := &snapshot{at: at, result: *result, scenario: scenario, index: n.index, commands: n.tally.list()}
		switch m := n.machine.(type) {
		case *nic.NIC:
			s.nic = m.Stats()
		case *switching.Switch:
			s.sw = m.Stats()
		}
		n.latest.Store(s)
	}
	r.runs.Reach(at)
}

// progress returns the progress of the run.
func (r *run) progress() *rackfabv1.RunProgress {
	p := r.nodes[0].latest.Load().progress()
	c, ok := r.conn.(interface{ Lost() bool }) // a connection over a network
	p.BusLost = ok && c.Lost()
	return p
}

// name returns the name of the node.
func (s *snapshot) name() string { return s.scenario.Nodes[s.index].Name }

// progress returns the progress of the process's run.
func (s *snapshot) progress() *rackfabv1.RunProgress {
	return &rackfabv1.RunProgress{
		FabricTimePs: int64(s.at), FrameHops: s.result.FrameHops, Envelopes: s.result.Envelopes,
		WaitsFor: s.result.WaitsFor, WaitsMs: s.result.Waited.Milliseconds(),
	}
}
