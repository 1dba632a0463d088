package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// noteSample notes the bytes that the port has sent since the last sample, and the bytes
// of each flow on the link, including link overhead, as the pacer counts them. A frame
// counts at the start of its transmission.
func (n *NIC) noteSample(now unit.Time, out *fabric.Out) {
	n.sampleAt = unit.Never
	if n.stats.TxBytes > n.sampledTx {
		out.Note(fabric.Note{Event: fabric.NewPortSampled(unit.Bytes(n.stats.TxBytes-n.sampledTx), 0), At: now, Flow: fabric.NoFlow})
		n.sampledTx = n.stats.TxBytes
	}
	for i := range n.qps.Senders {
		n.qps.Senders[i].Sample(now, out)
	}
	n.qps.SampleCredit(now, out)
	n.qps.Engine.Sample(now, out)
	if n.qps.Arbiter.Changing() {
		n.sampleAt = n.cfg.Sampling.After(now + 1)
	}
}
