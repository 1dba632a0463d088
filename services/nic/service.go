package nic

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// mostMetrics bounds the flows of one answer.
const mostMetrics = 1024

// service serves NicService for the NICs of a process.
type service struct {
	rackfabv1.UnimplementedNicServiceServer
	process *nodeservice.Service
}

// Register adds NicService to the server of a process, if it has NICs.
func Register(server grpc.ServiceRegistrar, process *nodeservice.Service) {
	if process.Has(topology.NIC) {
		rackfabv1.RegisterNicServiceServer(server, &service{process: process})
	}
}

// GetStats returns the counters of the NIC and of its flows.
func (n *service) GetStats(_ context.Context, q *rackfabv1.NicServiceGetStatsRequest) (*rackfabv1.NicServiceGetStatsResponse, error) {
	now, err := n.process.Latest(q.GetNode(), topology.NIC)
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.NicServiceGetStatsResponse{Node: now.Name(), AtPs: int64(now.At), Counters: map[string]uint64{}}
	for name, value := range now.NIC.Counters() {
		out.Counters[name] = value
	}
	var known []string
	for _, m := range metrics(now) {
		known = append(known, m.GetFlowName())
		if len(out.GetFlows()) < mostMetrics && (len(q.GetFlows()) == 0 || slices.Contains(q.GetFlows(), m.GetFlowName())) {
			out.Flows = append(out.Flows, m)
		}
	}
	return out, nodeservice.CheckNames("flows", q.GetFlows(), known, "flow from or to "+now.Name())
}

// metrics returns the flows that begin at the NIC, then those that end at it.
func metrics(s *nodeservice.Snapshot) (list []*rackfabv1.RoceFlowMetric) {
	for _, f := range s.NIC.Senders {
		if m := metric(s.Scenario, int(f.Flow)); m != nil {
			m.DataFramesTx, m.DataFramesRetransmitted, m.TxBytes = f.SentPackets, f.RetransmittedPackets, uint64(f.SentBytes)
			m.DataTxRate, m.AckedBytes, m.Scheme = float64(f.Rate)/1e9, uint64(f.AckedBytes), f.Scheme
			list = append(list, m)
		}
	}
	for _, f := range s.NIC.Receivers {
		if m := metric(s.Scenario, int(f.Flow)); m != nil {
			m.DataFramesRx, m.RxBytes, m.DeliveredBytes = f.ReceivedPackets, uint64(f.ReceivedBytes), uint64(f.DeliveredBytes)
			list = append(list, m)
		}
	}
	return list
}

// metric returns the metric of a flow without counters. It returns nil if the flow is
// one direction of a connection, which the scenario does not list.
func metric(s *topology.Scenario, flow int) *rackfabv1.RoceFlowMetric {
	if flow >= s.FlowCount() {
		return nil
	}
	f := s.Flow(flow)
	from, to := &s.Nodes[f.From], &s.Nodes[f.To]
	return &rackfabv1.RoceFlowMetric{
		FlowName: f.Name, PortTx: from.Name, PortRx: to.Name,
		SrcQp: frame.SenderQP(uint32(flow)), DestQp: frame.ReceiverQP(uint32(flow)),
		SrcIpv4: frame.HostIP(from.Host).String(), DestIpv4: frame.HostIP(to.Host).String(),
	}
}

// GetSettings returns the current settings of the NIC.
func (n *service) GetSettings(_ context.Context, q *rackfabv1.NicServiceGetSettingsRequest) (*rackfabv1.NicServiceGetSettingsResponse, error) {
	settings, err := n.process.Settings(q.GetNode(), topology.NIC, q.GetKeys())
	return &rackfabv1.NicServiceGetSettingsResponse{Settings: settings}, err
}

// ListCommands returns the state of the commands of the NIC's host.
func (n *service) ListCommands(_ context.Context, q *rackfabv1.NicServiceListCommandsRequest) (*rackfabv1.NicServiceListCommandsResponse, error) {
	now, err := n.process.Latest(q.GetNode(), topology.NIC)
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.NicServiceListCommandsResponse{AtPs: int64(now.At)}
	for _, c := range now.Commands {
		if q.GetName() == "" || c.GetName() == q.GetName() {
			out.Commands = append(out.Commands, c)
		}
	}
	if q.GetName() != "" && len(out.GetCommands()) == 0 {
		return nil, serve.Invalid("name", "%q is not a command posted by %s", q.GetName(), now.Name())
	}
	return out, nil
}
