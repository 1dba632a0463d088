package nodeservice

import (
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// snapshot is the state of the node's machine at an instant, for calls to the node
// itself. It is immutable.
type snapshot struct {
	at       unit.Time
	scenario *topology.Scenario
	index    int // of the node
	nic      nic.Stats
	sw       switching.Stats
	commands []*rackfabv1.CommandStats
}

// takeSnapshot takes and stores a snapshot of the machine. Only the loop may call it
// once the loop runs.
func (r *run) takeSnapshot(at unit.Time) *snapshot {
	s := &snapshot{at: at, scenario: r.scenario.Load(), index: r.index, commands: r.tally.list()}
	switch m := r.machine.(type) {
	case *nic.NIC:
		s.nic = m.Stats()
	case *switching.Switch:
		s.sw = m.Stats()
	}
	r.latest.Store(s)
	return s
}
