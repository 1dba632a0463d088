package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampled takes a congestion notification message of a switch (IEEE 802.1Qau). The
// packet that it brings back names the flow: it went to the flow's receiver.
func (n *NIC) sampled(now unit.Time, f *frame.Frame, out *fabric.Out) {
	qp, whole := f.SampledQP()
	flow, toSender, known := frame.FlowOfQP(qp)
	i, ok := n.sendingHalf(fabric.FlowID(flow), toSender)
	if _, acked := n.receiving.find(fabric.FlowID(flow)); whole && known && toSender && acked {
		n.stats.CNMIgnored++ // a sampled ACK: it has no rate
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
	out.Note(fabric.Note{
		Kind: fabric.CNMIn, At: now, Flow: s.ID, Priority: n.controlClass, A: int64(f.Feedback()), Trace: f.Trace,
	})
	n.signal(now, i, cc.Signal{Kind: cc.CNM, Feedback: f.Feedback()}, out)
}

// sendingHalf gives the sender of a packet of a flow or connection: what goes to a
// flow's receiver, and what either end of a connection sends.
func (n *NIC) sendingHalf(flow fabric.FlowID, toSender bool) (int, bool) {
	if n.engine != nil {
		if k := n.engine.find(flow); k >= 0 {
			return n.engine.connection(k).sender, toSender != n.engine.ends[k].initiator
		}
	}
	i, ok := n.sending.find(flow)
	return i, ok && !toSender
}
