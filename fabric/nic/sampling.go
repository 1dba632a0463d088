package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampleCredit notes the credit granted to each peer since the last sample.
func (n *NIC) sampleCredit(now unit.Time, out *fabric.Out) {
	for peer, s := range n.grantor.Samples() {
		out.Note(fabric.Note{
			Event: fabric.NewCreditSampled(unit.Bytes(s.Quanta)*credit.Quantum, s.Indicated), At: now,
			Flow: n.receivers[peer.Receiver()].ID, Priority: n.controlClass,
		})
	}
}

// noteSample notes the bytes that the port has sent since the last sample, and the bytes
// of each flow on the link, including link overhead, as the pacer counts them. A frame
// counts at the start of its transmission.
func (n *NIC) noteSample(now unit.Time, out *fabric.Out) {
	n.sampleAt = unit.Never
	if n.stats.TxBytes > n.sampledTx {
		out.Note(fabric.Note{Event: fabric.NewPortSampled(unit.Bytes(n.stats.TxBytes-n.sampledTx), 0), At: now, Flow: fabric.NoFlow})
		n.sampledTx = n.stats.TxBytes
	}
	for i := range n.senders {
		s := &n.senders[i]
		sent := s.stats.SentBytes + unit.Bytes(s.stats.SentPackets)*n.cfg.Overhead
		if sent == s.sampled {
			continue
		}
		out.Note(fabric.Note{Event: fabric.NewSentSampled(sent - s.sampled), At: now, Flow: s.ID, Priority: s.class})
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
	note := func(e fabric.Event) { out.Note(fabric.Note{Event: e, At: now, Flow: fabric.NoFlow}) }
	if is.in != was.in {
		note(fabric.NewTokensSampled(is.in, fabric.DirectionIn))
	}
	if is.out != was.out {
		note(fabric.NewTokensSampled(is.out, fabric.DirectionOut))
	}
	if d := is.stall.In - was.stall.In; d > 0 {
		note(fabric.NewStallSampled(d, fabric.DirectionIn))
	}
	if d := is.stall.Out - was.stall.Out; d > 0 {
		note(fabric.NewStallSampled(d, fabric.DirectionOut))
	}
	e.sampled = is
	if e.shaper.Changing() {
		n.sampleAt = n.cfg.Sampling.After(now + 1)
	}
}
