package nic

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Whatever packets and ACKs are lost or delayed, each flow with selective repeat completes, and
// its payload is delivered once. Retransmissions are rarely more than the losses.
func TestSelectiveRepeatDeliversEverythingOnce(tb *testing.T) {
	rapid.Check(tb, func(t *rapid.T) {
		flows := []FlowConfig{flow(0, 100_000), flow(1, unit.Bytes(rapid.Int64Range(1, 200_000).Draw(t, "size")))}
		for i := range flows {
			flows[i].Recovery = fabric.Selective
		}
		ackEvery, cap := rapid.IntRange(1, 40).Draw(t, "ack every"), unit.Bytes(rapid.Int64Range(1, 300_000).Draw(t, "cap"))
		b := newBench(tb, 2, flows, func(c *Config) { c.AckEvery, c.CC.IRN.Cap = ackEvery, cap })
		b.deliversOnce(t, flows, drawImpairment(t, 30, 50*us))
	})
}

// A lost packet alone is sent again, and the timer does not expire.
func TestOneLossCostsOneRetransmission(t *testing.T) {
	one := flow(0, 100_000)
	one.Recovery = fabric.Selective
	b := newBench(t, 2, []FlowConfig{one}, func(c *Config) { c.CC.IRN.Cap = unit.Megabyte })
	dropped := false
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 && f.PSN() == 7 && !dropped {
			dropped = true
			return false
		}
		return true
	}
	b.run(unit.Millisecond)
	s, r := b.nics[0].Stats(), b.nics[1].Stats()
	if s.Senders[0].RetransmittedPackets != 1 || s.LocalAckTimeoutErr != 0 || !s.Senders[0].Completed {
		t.Errorf("%+v, want one retransmission and no timeout", s.Senders[0])
	}
	if r.DuplicateRequest != 0 || r.OutOfSequence == 0 || r.Receivers[0].DeliveredBytes != 100_000 {
		t.Errorf("%d packets came twice, %d out of order, %v delivered", r.DuplicateRequest, r.OutOfSequence, r.Receivers[0].DeliveredBytes)
	}
}

// The loss of the last packets costs one timeout: every packet is a WRITE, so that each ACK
// shows what is missing next.
func TestLossesAtTheEndCostOneTimeout(t *testing.T) {
	one := flow(0, 10_000)
	one.Recovery = fabric.Selective
	b := newBench(t, 2, []FlowConfig{one}, func(c *Config) { c.CC.IRN.Cap = unit.Megabyte })
	lost := 0
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 && f.PSN() >= 6 && lost < 4 {
			lost++
			return false
		}
		return true
	}
	b.run(unit.Millisecond)
	if s := b.nics[0].Stats(); s.LocalAckTimeoutErr != 1 || s.Senders[0].RetransmittedPackets != 4 || !s.Senders[0].Completed {
		t.Errorf("%d timeouts, %+v, want one and four retransmissions", s.LocalAckTimeoutErr, s.Senders[0])
	}
}

// BDP-FC (IRN, SIGCOMM 2018) bounds the packets in flight.
func TestCapBoundsThePacketsInFlight(t *testing.T) {
	one := flow(0, Endless)
	one.Recovery = fabric.Selective
	b := newBench(t, 2, []FlowConfig{one}, func(c *Config) { c.CC.IRN.Cap = 20_000 })
	b.tap = func(from int, _ *frame.Frame) bool { return from == 0 } // no ACK
	b.run(100 * us)
	if data := b.from(0, func(f *frame.Frame) bool { return f.Opcode().IsData() }); len(data) != 20 {
		t.Errorf("%d packets are sent, want 20", len(data))
	}
}

// Every packet carries the address at which it is placed, and its own length.
func TestEachPacketIsAWriteOfItsOwn(t *testing.T) {
	one := flow(0, 2500)
	one.Recovery = fabric.Selective
	b := newBench(t, 2, []FlowConfig{one})
	b.run(unit.Millisecond)
	for i, s := range b.from(0, func(*frame.Frame) bool { return true }) {
		var p frame.Packet
		if err := p.Parse(&s.Frame); err != nil || p.BTH.Opcode != frame.WriteOnly || p.RETH.VA != uint64(1000*i) || p.RETH.Length != min(1000, uint32(2500-1000*i)) {
			t.Errorf("packet %d: %+v, %v", i, p, err)
		}
	}
}
