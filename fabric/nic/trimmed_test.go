package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// trimOnce trims the first transmission of the packet of host 0 with the given PSN.
func trimOnce(b *fabricBench, psn uint32) {
	trimmed := false
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 && isData(f) && f.PSN() == psn && !trimmed {
			trimmed = f.Trim(64, f.DSCP()) > 0
		}
		return true
	}
}

// TRIM-10: a trimmed packet is no data: its payload is neither delivered nor acknowledged, it is not
// counted as received, and it is sent again.
func TestTrimmedPacketIsNotDelivered(t *testing.T) {
	one := flow(0, 100_000)
	one.Recovery = fabric.Selective
	b := newBench(t, 2, []FlowConfig{one}, func(c *Config) { c.CC.IRN.Cap = unit.Megabyte })
	trimOnce(b, 7)
	b.run(unit.Millisecond)
	s, r := b.nics[0].Stats(), b.nics[1].Stats()
	if got := r.Receivers[0]; got.TrimmedPackets != 1 || got.DeliveredBytes != 100_000 || got.ReceivedPackets != 100 || r.DuplicateRequest != 0 {
		t.Errorf("received %+v", got)
	}
	if s.Senders[0].RetransmittedPackets != 1 || !s.Senders[0].Completed || r.RxTrimmed != 1 {
		t.Errorf("sent %+v, %d trimmed packets", s.Senders[0], r.RxTrimmed)
	}
	notes := b.noted(1, fabric.TrimmedIn)
	if len(notes) != 1 || notes[0].PSN() != 7 || notes[0].Bytes() != 78 || notes[0].Flow != 0 {
		t.Errorf("noted %+v", notes)
	}
}

// The receive buffer, and the address translation, are for data only.
func TestTrimmedPacketPassesTheReceiveBuffer(t *testing.T) {
	one := flow(0, 10_000)
	one.Recovery = fabric.Selective
	b := newBench(t, 2, []FlowConfig{one}, absorbing(unit.GigabitPerSec), func(c *Config) { c.CC.IRN.Cap = unit.Megabyte })
	trimOnce(b, 3)
	b.run(8 * us)
	if notes := b.noted(1, fabric.TrimmedIn); len(notes) != 1 || b.nics[1].Stats().Receivers[0].ReceivedPackets != 0 {
		t.Errorf("%d trimmed packets handled before the packets in front of them are absorbed, want 1", len(notes))
	}
}
