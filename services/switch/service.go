package switchd

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
)

// service serves SwitchService for the switches of a process.
type service struct {
	rackfabv1.UnimplementedSwitchServiceServer
	process *nodeservice.Service
}

// Register adds SwitchService to the server of a process, if it has switches.
func Register(server grpc.ServiceRegistrar, process *nodeservice.Service) {
	if process.Has(topology.Switch) {
		rackfabv1.RegisterSwitchServiceServer(server, &service{process: process})
	}
}

// GetStats returns the counters of the switch's ports and queues.
func (w *service) GetStats(_ context.Context, q *rackfabv1.SwitchServiceGetStatsRequest) (*rackfabv1.SwitchServiceGetStatsResponse, error) {
	now, err := w.process.Latest(q.GetNode(), topology.Switch)
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.SwitchServiceGetStatsResponse{Node: now.Name(), AtPs: int64(now.At), Buffer: map[string]uint64{
		"SAI_BUFFER_POOL_STAT_CURR_OCCUPANCY_BYTES": uint64(now.Switch.SharedUsed),
	}}
	var peers []string
	for i, end := range now.Scenario.PortMap()[now.Index] {
		peer := now.Scenario.PeerName(end)
		peers = append(peers, peer)
		if len(q.GetPeers()) == 0 || slices.Contains(q.GetPeers(), peer) {
			out.Ports = append(out.Ports, switchPort(i, peer, &now.Switch.Ports[i]))
		}
	}
	return out, nodeservice.CheckNames("peers", q.GetPeers(), peers, "peer of "+now.Name())
}

func switchPort(number int, peer string, p *switching.PortStats) *rackfabv1.SwitchPortStats {
	out := &rackfabv1.SwitchPortStats{Port: int32(number), Peer: peer, Counters: fabric.NonZero(p.Counters())}
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
func (w *service) GetSettings(_ context.Context, q *rackfabv1.SwitchServiceGetSettingsRequest) (*rackfabv1.SwitchServiceGetSettingsResponse, error) {
	settings, err := w.process.Settings(q.GetNode(), topology.Switch, q.GetKeys())
	return &rackfabv1.SwitchServiceGetSettingsResponse{Settings: settings}, err
}
