package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampled handles a congestion notification message of a switch (IEEE 802.1Qau). The
// sampled packet that it returns identifies the flow by its destination queue pair.
func (n *NIC) sampled(now unit.Time, f *frame.Frame, out *fabric.Out) {
	qp, whole := f.SampledQP()
	flow, toSender, known := frame.FlowOfQP(qp)
	i, ok := n.sendingHalf(fabric.FlowID(flow), toSender)
	if _, acked := n.receiving.find(fabric.FlowID(flow)); whole && known && toSender && acked {
		n.stats.CNMIgnored++ // a sampled ACK: ACKs have no rate to reduce
		return
	}
	if !whole || !known || !ok || f.DstMAC() != frame.HostMAC(n.cfg.Host) {
		n.malformed(now, f, out)
		return
	}
	s := &n.senders[i]
	if !s.started || s.done {
		n.stats.CNMIgnored++
		return
	}
	n.stats.CNMHandled++
	out.Note(fabric.Note{Event: fabric.NewCNMIn(f.Feedback()), At: now, Flow: s.ID, Priority: n.controlClass, Trace: f.Trace})
	n.signal(now, i, cc.Signal{Kind: cc.CNM, Feedback: f.Feedback()}, out)
}

// sendingHalf returns the index of the sender of a packet: of a flow's data packet, or
// of a packet that this end of a connection sent. It returns false if this NIC did not
// send the packet.
func (n *NIC) sendingHalf(flow fabric.FlowID, toSender bool) (int, bool) {
	if n.engine != nil {
		if k := n.engine.find(flow); k >= 0 {
			return n.engine.connection(k).sender, toSender != n.engine.ends[k].initiator
		}
	}
	i, ok := n.sending.find(flow)
	return i, ok && !toSender
}
