package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampleCredit notes the credit granted to each peer since the last sample.
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

// noteSample notes the bytes that the port has sent since the last sample, and the bytes
// of each flow on the link, including link overhead, as the pacer counts them. A frame
// counts at the start of its transmission.
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

// shaperSample is the state of the shaper at the latest sample.
type shaperSample struct {
	out, in unit.Bytes // tokens
	stall   shaper.Stall
}

// sampleShaper notes the tokens of the whole NIC, and the time that classes have waited
// for tokens since the last sample. It samples the next interval too while tokens or
// stalls change by time alone.
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
