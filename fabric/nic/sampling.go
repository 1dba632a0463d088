package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampleCredit notes what each sender has been granted since the last sample.
func (n *NIC) sampleCredit(now unit.Time, out *fabric.Out) {
	if n.credits == nil {
		return
	}
	for peer, i := range n.credits.flowOf {
		is, was := n.credits.pacer.Stats(peer), &n.credits.sampled[peer]
		if is == *was {
			continue
		}
		out.Note(fabric.Note{
			Kind: fabric.CreditSampled, At: now, Flow: n.receivers[i].ID, Priority: n.controlClass,
			A: (is.Quanta - was.Quanta) * int64(credit.Quantum), B: is.Indicated - was.Indicated,
		})
		*was = is
	}
}

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
	n.sampleCredit(now, out)
}
