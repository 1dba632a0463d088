package nodeservice

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// Snapshot is the state of a node in a run at an instant. It is immutable.
type Snapshot struct {
	At       unit.Time     // of the earliest pending event, at most the grant
	result   runner.Result // of its process
	Scenario *topology.Scenario
	Index    int             // of the node in the scenario
	NIC      nic.Stats       // of a NIC
	Switch   switching.Stats // of a switch
	Stuck    []fabric.Stuck  // buffers of a switch
	Commands []*rackfabv1.CommandStats
}

// takeSnapshots takes and stores a snapshot of every node. Only the loop may call it once
// the loop runs.
func (r *run) takeSnapshots(at unit.Time, result *runner.Result) {
	scenario := r.scenario.Load()
	for _, n := range r.nodes {
		s := &Snapshot{At: at, result: *result, Scenario: scenario, Index: n.index, Commands: n.tally.list()}
		switch m := n.machine.(type) {
		case *nic.NIC:
			s.NIC = m.Stats()
		case *switching.Switch:
			s.Switch, s.Stuck = m.Stats(), m.Stuck()
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

// Name returns the name of the node.
func (s *Snapshot) Name() string { return s.Scenario.Nodes[s.Index].Name }

// progress returns the progress of the process's run.
func (s *Snapshot) progress() *rackfabv1.RunProgress {
	return &rackfabv1.RunProgress{
		FabricTimePs: int64(s.At), FrameHops: s.result.FrameHops, Envelopes: s.result.Envelopes,
		WaitsFor: s.result.WaitsFor, WaitsMs: s.result.Waited.Milliseconds(),
	}
}
