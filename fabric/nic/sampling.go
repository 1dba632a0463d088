package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
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

// noteSample notes what the port has sent since the last sample, and what each flow has
// put on the link, link overhead included, as the pacer counts it. A frame counts
// where its transmission starts.
func (n *NIC) noteSample(now unit.Time, out *fabric.Out) {
	n.sampleAt = unit.Never
	if n.stats.TxBytes > n.sampledTx {
		out.Note(fabric.Note{Kind: fabric.PortSampled, At: now, Flow: fabric.NoFlow, A: int64(n.stats.TxBytes - n.sampledTx)})
		n.sampledTx = n.stats.TxBytes
	}
	for i := range n.senders {
		s := &n.senders[i]
		sent := s.stats.SentBytes + unit.Bytes(s.stats.SentPackets)*n.cfg.Overhead
		if sent == s.sampled {
			continue
		}
		out.Note(fabric.Note{
			Kind: fabric.SentSampled, At: now, Flow: s.ID, Priority: s.class, A: int64(sent - s.sampled),
		})
		s.sampled = sent
	}
	n.sampleCredit(now, out)
	n.sampleShaper(now, out)
}

// shaperSample is how the shaper stood at the latest sample.
type shaperSample struct {
	out, in unit.Bytes // tokens
	stall   shaper.Stall
}

// sampleShaper notes the head's tokens, and how long classes have waited for tokens
// since the last sample. It goes on in the next span while time alone changes them.
func (n *NIC) sampleShaper(now unit.Time, out *fabric.Out) {
	e := n.engine
	if e == nil {
		return
	}
	is, was := shaperSample{stall: e.shaper.Stalled(now)}, e.sampled
	is.out, is.in = e.shaper.Tokens(now)
	note := func(kind fabric.Kind, value int64, way fabric.Direction) {
		out.Note(fabric.Note{Kind: kind, At: now, Flow: fabric.NoFlow, A: value, B: int64(way)})
	}
	if is.in != was.in {
		note(fabric.TokensSampled, int64(is.in), fabric.DirectionIn)
	}
	if is.out != was.out {
		note(fabric.TokensSampled, int64(is.out), fabric.DirectionOut)
	}
	if d := is.stall.In - was.stall.In; d > 0 {
		note(fabric.StallSampled, int64(d), fabric.DirectionIn)
	}
	if d := is.stall.Out - was.stall.Out; d > 0 {
		note(fabric.StallSampled, int64(d), fabric.DirectionOut)
	}
	e.sampled = is
	if e.shaper.Changing() {
		n.sampleAt = n.cfg.Sampling.After(now + 1)
	}
}
