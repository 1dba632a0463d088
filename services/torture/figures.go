package torture

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// figures are the counters of a node from the start of the run to an instant.
type figures struct {
	delivered int64 // payload bytes
	ports     []portFigures
	gone      int64 // received bytes that a switch of the lab has neither sent, queued, dropped nor trimmed
}

// portFigures are those of a port, in bytes and frames. Those of a NIC count PFC frames,
// those of a switch do not.
type portFigures struct {
	sent, received, queued int64
	lost                   int64 // frames that the node dropped, or that the link has cut, lost or damaged
	pauses                 int64 // XOFF frames sent
}

// counted returns the figures of the nodes of a lab.
func counted(l *lab.Lab, s *topology.Scenario) []figures {
	list, ends := make([]figures, len(s.Nodes)), s.PortMap()
	for i := range s.Nodes {
		f := &list[i]
		f.ports = make([]portFigures, len(ends[i]))
		switch m := l.Machine(i).(type) {
		case *nic.NIC:
			f.nic(m.Stats())
		case *switching.Switch:
			f.switching(m.Stats())
		}
	}
	return list
}

func (f *figures) nic(n nic.Stats) {
	p := &f.ports[0]
	p.sent, p.received = int64(n.TxBytes), int64(n.RxBytes)
	p.lost = int64(n.CutFrames + n.LostFrames + n.DamagedFrames + n.FrozenDrops + n.IntakeDrops)
	for i := range n.Priorities {
		p.pauses += int64(n.Priorities[i].TxPause)
	}
	f.delivered = int64(n.Ended.DeliveredBytes)
	for i := range n.Receivers {
		f.delivered += int64(n.Receivers[i].DeliveredBytes)
	}
}

func (f *figures) switching(s switching.Stats) {
	for i := range s.Ports {
		p := &f.ports[i]
		p.lost = int64(s.Ports[i].CutFrames + s.Ports[i].LostFrames + s.Ports[i].DamagedFrames)
		for c := range s.Ports[i].Classes {
			class := &s.Ports[i].Classes[c]
			p.sent += int64(class.SentBytes + class.TelemetryBytes)
			p.received += int64(class.ReceivedBytes)
			p.queued += int64(class.QueueBytes)
			p.lost += int64(class.DroppedFrames)
			p.pauses += int64(class.PausesSent)
			f.gone += int64(class.ReceivedBytes + class.OriginatedBytes - class.SentBytes - class.DroppedBytes - class.QueueBytes - class.TrimmedBytes)
		}
	}
}

// reported returns the figures that the nodes have sent to the controller.
func reported(nodes []*rackfabv1.NodeStats) []figures {
	list := make([]figures, len(nodes))
	for i, n := range nodes {
		list[i].delivered = n.GetDeliveredBytes()
		for _, p := range n.GetPorts() {
			list[i].ports = append(list[i].ports, portFigures{
				sent: p.GetSentBytes(), received: p.GetReceivedBytes(), queued: p.GetQueueBytes(),
				lost: p.GetDroppedFrames() + p.GetLostFrames() + p.GetDamagedFrames(), pauses: p.GetPausesSent(),
			})
		}
	}
	return list
}

// pfcBytes is the length of a PFC frame.
const pfcBytes = 64

// mostFlying returns the number of bytes that a link can carry in one direction at most, with
// the frame that is being sent and the one that is being received.
func mostFlying(l *topology.Link) int64 {
	return int64(l.Delay/l.Rate.Serialise(1)) + 2*int64(l.MTU)
}

// losses returns the number of lost frames.
func losses(all []figures) (lost int64) {
	for i := range all {
		for _, p := range all[i].ports {
			lost += p.lost
		}
	}
	return lost
}

// conserved checks that no byte appears or disappears: what a switch has received is sent,
// queued, dropped or trimmed; what is sent into a link has arrived, or is on its way.
func conserved(s *topology.Scenario, all []figures) error {
	if len(all) != len(s.Nodes) {
		return fmt.Errorf("figures of %d nodes, want %d", len(all), len(s.Nodes))
	}
	for i := range all {
		if all[i].gone != 0 {
			return fmt.Errorf("switch %s: %d received bytes are neither sent, queued, dropped nor trimmed", s.Nodes[i].Name, all[i].gone)
		}
	}
	return carried(s, all, losses(all) == 0)
}

// carried checks the links. Those of a rack without losses must have delivered everything but
// what they can carry; of the others, it is not known how many bytes were lost.
func carried(s *topology.Scenario, all []figures, lossless bool) error {
	for i := range s.Links {
		l := &s.Links[i]
		a, b := &all[l.A].ports[l.APort], &all[l.B].ports[l.BPort]
		for _, way := range [][2]*portFigures{{a, b}, {b, a}} {
			pfc := int64(0) // XOFF and XON, which only one of the ends counts
			if s.Nodes[l.A].Kind != s.Nodes[l.B].Kind {
				pfc = 2 * pfcBytes * way[0].pauses
			}
			flying := way[0].sent - way[1].received
			if flying < -pfc || lossless && flying > mostFlying(l)+pfc {
				return fmt.Errorf("link %s: %d bytes sent, %d received, at most %d on their way", s.LinkName(i), way[0].sent, way[1].received, mostFlying(l))
			}
		}
	}
	return nil
}

// same returns an error that names the first node whose figures differ from the lab's.
func same(s *topology.Scenario, got, want []figures) error {
	for i := range want {
		name := s.Nodes[i].Name
		if got[i].delivered != want[i].delivered {
			return fmt.Errorf("node %s has delivered %d bytes, in the lab %d", name, got[i].delivered, want[i].delivered)
		}
		for k := range want[i].ports {
			if got[i].ports[k] != want[i].ports[k] {
				return fmt.Errorf("port %d of %s has %+v, in the lab %+v", k, name, got[i].ports[k], want[i].ports[k])
			}
		}
	}
	return nil
}
