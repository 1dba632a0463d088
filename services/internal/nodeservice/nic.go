package nodeservice

import (
	"context"
	"slices"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// mostMetrics bounds the flows of one answer.
const mostMetrics = 1024

// nicService serves NicService for the NICs of a process.
type nicService struct {
	rackfabv1.UnimplementedNicServiceServer
	process *Service
}

// GetStats returns the counters of the NIC and of its flows.
func (n *nicService) GetStats(_ context.Context, q *rackfabv1.NicServiceGetStatsRequest) (*rackfabv1.NicServiceGetStatsResponse, error) {
	now, err := n.process.snapshot(q.GetNode(), topology.NIC)
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.NicServiceGetStatsResponse{Node: now.name(), AtPs: int64(now.at), Counters: map[string]uint64{}}
	for name, value := range now.nic.Counters() {
		out.Counters[name] = value
	}
	var known []string
	for _, m := range now.metrics() {
		known = append(known, m.GetFlowName())
		if len(out.GetFlows()) < mostMetrics && (len(q.GetFlows()) == 0 || slices.Contains(q.GetFlows(), m.GetFlowName())) {
			out.Flows = append(out.Flows, m)
		}
	}
	return out, checkNames("flows", q.GetFlows(), known, "flow from or to "+now.name())
}

// metrics returns the flows that begin at the NIC, then those that end at it.
func (s *snapshot) metrics() (list []*rackfabv1.RoceFlowMetric) {
	for _, f := range s.nic.Senders {
		if m := s.metric(int(f.Flow)); m != nil {
			m.DataFramesTx, m.DataFramesRetransmitted, m.TxBytes = f.SentPackets, f.RetransmittedPackets, uint64(f.SentBytes)
			m.DataTxRate, m.AckedBytes, m.Scheme = float64(f.Rate)/1e9, uint64(f.AckedBytes), f.Scheme
			list = append(list, m)
		}
	}
	for _, f := range s.nic.Receivers {
		if m := s.metric(int(f.Flow)); m != nil {
			m.DataFramesRx, m.RxBytes, m.DeliveredBytes = f.ReceivedPackets, uint64(f.ReceivedBytes), uint64(f.DeliveredBytes)
			list = append(list, m)
		}
	}
	return list
}

// metric returns the metric of a flow without counters. It returns nil if the flow is
// one direction of a connection, which the scenario does not list.
func (s *snapshot) metric(flow int) *rackfabv1.RoceFlowMetric {
	if flow >= s.scenario.FlowCount() {
		return nil
	}
	f := s.scenario.Flow(flow)
	from, to := &s.scenario.Nodes[f.From], &s.scenario.Nodes[f.To]
	return &rackfabv1.RoceFlowMetric{
		FlowName: f.Name, PortTx: from.Name, PortRx: to.Name,
		SrcQp: frame.SenderQP(uint32(flow)), DestQp: frame.ReceiverQP(uint32(flow)),
		SrcIpv4: frame.HostIP(from.Host).String(), DestIpv4: frame.HostIP(to.Host).String(),
	}
}

// GetSettings returns the current settings of the NIC.
func (n *nicService) GetSettings(_ context.Context, q *rackfabv1.NicServiceGetSettingsRequest) (*rackfabv1.NicServiceGetSettingsResponse, error) {
	settings, err := n.process.settings(q.GetNode(), topology.NIC, q.GetKeys())
	return &rackfabv1.NicServiceGetSettingsResponse{Settings: settings}, err
}

// ListCommands returns the state of the commands of the NIC's host.
func (n *nicService) ListCommands(_ context.Context, q *rackfabv1.NicServiceListCommandsRequest) (*rackfabv1.NicServiceListCommandsResponse, error) {
	now, err := n.process.snapshot(q.GetNode(), topology.NIC)
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.NicServiceListCommandsResponse{AtPs: int64(now.at)}
	for _, c := range now.commands {
		if q.GetName() == "" || c.GetName() == q.GetName() {
			out.Commands = append(out.Commands, c)
		}
	}
	if q.GetName() != "" && len(out.GetCommands()) == 0 {
		return nil, serve.Invalid("name", "%q is not a command posted by %s", q.GetName(), now.name())
	}
	return out, nil
}
