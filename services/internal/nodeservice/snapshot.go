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
	at       unit.Time // of the earliest pending event, at most the grant
	result   runner.Result
	scenario *topology.Scenario
	index    int // of the node
	nic      nic.Stats
	sw       switching.Stats
	commands []*rackfabv1.CommandStats
}

// takeSnapshot takes and stores a snapshot. Only the loop may call it once the loop
// runs.
func (r *run) takeSnapshot(at unit.Time, result *runner.Result) *snapshot {
	s := &snapshot{at: at, result: *result, scenario: r.scenario.Load(), index: r.index, commands: r.tally.list()}
	switch m := r.machine.(type) {
	case *nic.NIC:
		s.nic = m.Stats()
	case *switching.Switch:
		s.sw = m.Stats()
	}
	r.latest.Store(s)
	r.runs.Reach(at)
	return s
}

// progress returns the progress of the node's run.
func (s *snapshot) progress() *rackfabv1.RunProgress {
	return &rackfabv1.RunProgress{FabricTimePs: int64(s.at), FrameHops: s.result.FrameHops, Envelopes: s.result.Envelopes}
}
