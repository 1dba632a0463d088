package nodeservice

import (
	"context"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// switchService serves SwitchService for the switches of a process.
type switchService struct {
	rackfabv1.UnimplementedSwitchServiceServer
	process *Service
}

// GetStats returns the counters of the switch's ports and queues.
func (w *switchService) GetStats(_ context.Context, q *rackfabv1.SwitchServiceGetStatsRequest) (*rackfabv1.SwitchServiceGetStatsResponse, error) {
	now, err := w.process.snapshot(q.GetNode(), topology.Switch)
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.SwitchServiceGetStatsResponse{Node: now.name(), AtPs: int64(now.at), Buffer: map[string]uint64{
		"SAI_BUFFER_POOL_STAT_CURR_OCCUPANCY_BYTES": uint64(now.sw.SharedUsed),
	}}
	var peers []string
	for i, end := range now.scenario.PortMap()[now.index] {
		peer := now.scenario.PeerName(end)
		peers = append(peers, peer)
		if len(q.GetPeers()) == 0 || slices.Contains(q.GetPeers(), peer) {
			out.Ports = append(out.Ports, switchPort(i, peer, &now.sw.Ports[i]))
		}
	}
	return out, checkNames("peers", q.GetPeers(), peers, "peer of "+now.name())
}

func switchPort(number int, peer string, p *switching.PortStats) *rackfabv1.SwitchPortStats {
	sum := &rackfabv1.PortStats{}
	portStats(p, sum)
	out := &rackfabv1.SwitchPortStats{Port: int32(number), Peer: peer, Counters: sum.GetCounters()}
	for class := range p.Classes {
		c := &p.Classes[class]
		if *c != (switching.ClassStats{}) {
			out.Classes = append(out.Classes, switchClass(class, c))
		}
	}
	return out
}

func switchClass(class int, c *switching.ClassStats) *rackfabv1.SwitchClassStats {
	return &rackfabv1.SwitchClassStats{
		Class: int32(class), Paused: c.Paused, PeerIsPaused: c.PeerIsPaused, Counters: fabric.NonZero(c.Counters(fabric.Priority(class))),
	}
}

// GetSettings returns the current settings of the switch.
func (w *switchService) GetSettings(_ context.Context, q *rackfabv1.SwitchServiceGetSettingsRequest) (*rackfabv1.SwitchServiceGetSettingsResponse, error) {
	settings, err := w.process.settings(q.GetNode(), topology.Switch, q.GetKeys())
	return &rackfabv1.SwitchServiceGetSettingsResponse{Settings: settings}, err
}
