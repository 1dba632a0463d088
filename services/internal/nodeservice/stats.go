package nodeservice

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// maxFlows bounds the flows that a node lists individually.
const maxFlows = 64

// stats returns the statistics of the node, without those of its process. The loop calls
// it.
func (n *hosted) stats(now *Snapshot) *rackfabv1.NodeStats {
	s, events := now.Scenario, &n.tally.events
	out := &rackfabv1.NodeStats{
		Node: n.name, Notices: map[string]int64{}, Commands: now.Commands,
		FlowsStarted: events[fabric.FlowStarted], FlowsEnded: events[fabric.Completed] + events[fabric.FlowStopped],
	}
	for kind, count := range events {
		if count > 0 {
			out.Notices[fabric.Kind(kind).String()] = count
		}
	}
	for _, end := range s.PortMap()[n.index] {
		out.Ports = append(out.Ports, &rackfabv1.PortStats{Peer: s.PeerName(end)})
	}
	if s.Nodes[n.index].Kind == topology.NIC {
		nicStats(now.NIC, s, out)
	}
	for i := range now.Switch.Ports {
		portStats(&now.Switch.Ports[i], out.GetPorts()[i])
	}
	for _, b := range now.Stuck {
		one := &rackfabv1.StuckBuffer{Ingress: int32(b.Ingress), Class: int32(b.Class), SincePs: int64(b.Since)}
		for _, port := range b.Egress {
			one.Egress = append(one.Egress, int32(port))
		}
		out.Stuck = append(out.Stuck, one)
	}
	return out
}

// busStats returns the counters of the process's envelopes.
func (r *run) busStats(result *runner.Result) *rackfabv1.BusStats {
	struck := r.envelopeFaults()
	return &rackfabv1.BusStats{
		Envelopes: result.Envelopes, Resent: result.Resent, Missed: result.Missed, Repeated: result.Repeated, Early: result.Early,
		StruckLost: struck.Dropped, StruckRepeated: struck.Repeated, StruckDelayed: struck.Delayed,
	}
}

func nicStats(n nic.Stats, s *topology.Scenario, out *rackfabv1.NodeStats) {
	port := out.GetPorts()[0]
	port.Down, port.SentBytes, port.ReceivedBytes = n.LinkDown, int64(n.TxBytes), int64(n.RxBytes)
	port.DroppedFrames = int64(n.CutFrames + n.FrozenDrops + n.IntakeDrops)
	port.LostFrames, port.DamagedFrames = int64(n.LostFrames), int64(n.DamagedFrames)
	for _, class := range n.Priorities {
		port.Paused = port.GetPaused() || class.Held
		port.PausesSent += int64(class.TxPause)
		port.PausesReceived += int64(class.RxPause)
	}
	for _, c := range n.ClassCounters() {
		port.Classes = append(port.Classes, classStats(&c))
	}
	out.Frozen, out.Counters = n.Frozen, fabric.NonZero(n.Counters())
	out.DeliveredBytes = int64(n.Ended.DeliveredBytes)
	for _, r := range n.Receivers {
		out.DeliveredBytes += int64(r.DeliveredBytes)
	}
	for _, f := range n.Senders {
		if f.Started && !f.Completed && int(f.Flow) < s.FlowCount() && len(out.GetFlows()) < maxFlows {
			out.Flows = append(out.Flows, &rackfabv1.FlowStats{
				Name: s.Flow(int(f.Flow)).Name, RateBps: int64(f.Rate), SentBytes: int64(f.SentBytes), AckedBytes: int64(f.AckedBytes),
				Scheme: f.Scheme,
			})
		}
	}
}

// portStats fills in the statistics of a switch port.
func portStats(p *switching.PortStats, out *rackfabv1.PortStats) {
	out.Down, out.Counters = p.LinkDown, fabric.NonZero(p.Counters())
	out.DroppedFrames, out.LostFrames, out.DamagedFrames = int64(p.CutFrames), int64(p.LostFrames), int64(p.DamagedFrames)
	for _, c := range p.Classes {
		out.QueueBytes += int64(c.QueueBytes)
		out.Paused = out.GetPaused() || c.Paused
		out.SentBytes += int64(c.SentBytes + c.TelemetryBytes)
		out.ReceivedBytes += int64(c.ReceivedBytes)
		out.PausesSent += int64(c.PausesSent)
		out.PausesReceived += int64(c.PausesReceived)
		out.MarkedFrames += int64(c.MarkedFrames)
		out.DroppedFrames += int64(c.DroppedFrames)
	}
	for c := range p.ClassCounters() {
		out.Classes = append(out.Classes, classStats(&c))
	}
}

// classStats converts the counters of a traffic class of a port.
func classStats(c *fabric.ClassCounters) *rackfabv1.ClassStats {
	return &rackfabv1.ClassStats{
		Class: int32(c.Class), Counters: fabric.NonZero(c.Counters),
		FirstCePs: int64(c.CE), FirstPauseSentPs: int64(c.PauseSent), FirstPauseReceivedPs: int64(c.PauseReceived),
	}
}
