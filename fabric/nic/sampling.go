package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampleSent notes what each flow has put on the link since the last sample, link
// overhead included, as the pacer counts it. A frame counts where its
// transmission starts.
func (n *NIC) sampleSent(now unit.Time, out *fabric.Out) {
	n.sampleAt = unit.Never
	for i := range n.senders {
		s := &n.senders[i]
		sent := s.stats.SentBytes + unit.Bytes(s.stats.SentPackets)*n.cfg.Overhead
		if sent == s.sampled {
			continue
		}
		out.Note(fabric.Note{
			Kind: fabric.SentSampled, At: now, Flow: s.ID, Priority: n.dataClass, A: int64(sent - s.sampled),
		})
		s.sampled = sent
	}
}
