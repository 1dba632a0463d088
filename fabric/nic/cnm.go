package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampled handles a congestion notification message of a switch (IEEE 802.1Qau). The
// sampled packet that it returns identifies the flow by its destination queue pair.
func (n *NIC) sampled(now unit.Time, f *frame.Frame, out *fabric.Out) {
	qp, whole := f.SampledQP()
	flow, toSender, known := frame.FlowOfQP(qp)
	s, ok := n.sendingHalf(fabric.FlowID(flow), toSender)
	if _, acked := n.receiving.Find(fabric.FlowID(flow)); whole && known && toSender && acked {
		n.stats.CNMIgnored++ // a sampled ACK: ACKs have no rate to reduce
		return
	}
	if !whole || !known || !ok || f.DstMAC() != frame.HostMAC(n.cfg.Host) {
		n.dev.Discard(now, f, out)
		return
	}
	s.SampledBySwitch(now, f, out)
}

// sendingHalf returns the sender of a packet: of a flow's data packet, or of a packet that
// this end of a connection sent. It returns false if this NIC did not send the packet.
func (n *NIC) sendingHalf(flow fabric.FlowID, toSender bool) (*qp.Sender, bool) {
	if s, initiator := n.engine.Sender(flow); s != nil {
		return s, toSender != initiator
	}
	i, ok := n.sending.Find(flow)
	if !ok || toSender {
		return nil, false
	}
	return n.senders[i], true
}
