package nic

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A message of one packet is WRITE only; a longer one is first, middle and last. The first
// packet carries a RETH with the length of the whole message.
func TestOpcodesOfAMessage(t *testing.T) {
	for _, c := range []struct {
		size    unit.Bytes
		want    []frame.Opcode
		payload []uint32
	}{
		{1, []frame.Opcode{frame.WriteOnly}, []uint32{4}}, // padded to four
		{1000, []frame.Opcode{frame.WriteOnly}, []uint32{1000}},
		{1001, []frame.Opcode{frame.WriteFirst, frame.WriteLast}, []uint32{1000, 4}},
		{3999, []frame.Opcode{frame.WriteFirst, frame.WriteMiddle, frame.WriteMiddle, frame.WriteLast}, []uint32{1000, 1000, 1000, 1000}},
	} {
		b := newBench(t, 2, []FlowConfig{flow(0, c.size)})
		b.run(unit.Millisecond)
		var ops []frame.Opcode
		var payload []uint32
		for _, f := range b.from(0, isData) {
			ops, payload = append(ops, f.Opcode()), append(payload, f.Payload)
			if f.Opcode().HasRETH() && f.DMALength() != uint32(c.size) {
				t.Errorf("the RETH has %d bytes of %d", f.DMALength(), c.size)
			}
		}
		if !slices.Equal(ops, c.want) || !slices.Equal(payload, c.payload) {
			t.Errorf("%d bytes: %v with %v, want %v with %v", c.size, ops, payload, c.want, c.payload)
		}
		if got := b.nics[1].Stats().Receivers[0].DeliveredBytes; got != c.size {
			t.Errorf("%d bytes delivered of %d", got, c.size)
		}
	}
}

// An endless flow is a sequence of messages of 1 MB, so that its MSN advances.
func TestEndlessFlowSendsMessagesOf1MB(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)})
	b.run(unit.Millisecond)
	first := b.from(0, func(f *frame.Frame) bool { return f.Opcode() == frame.WriteFirst })
	if want := []uint32{0, 1000, 2000, 3000, 4000}; !slices.Equal(psns(first), want) {
		t.Errorf("messages begin at %v, want %v", psns(first), want)
	}
	if first[1].DMALength() != 1_000_000 {
		t.Errorf("a message has %d bytes", first[1].DMALength())
	}
	acks := b.from(1, isACK)
	if got := acks[len(acks)-1].MSN(); got != 4 {
		t.Errorf("MSN is %d after 4 messages", got)
	}
	if n := b.noted(0, fabric.Completed); len(n) > 0 {
		t.Error("an endless flow completed")
	}
}

// Data packets are ECT(0) and carry the DSCP and the addresses of their flow.
func TestDataHeaders(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(7, 5000)})
	b.run(unit.Millisecond)
	for _, f := range b.from(0, isData) {
		var p frame.Packet
		if err := p.Parse(&f.Frame); err != nil {
			t.Fatal(err)
		}
		if p.ECN != frame.ECT0 || p.DSCP != dataDSCP || p.SrcPort != 49152 ||
			p.Dst != frame.HostIP(1) || p.DstMAC != frame.HostMAC(1) || p.BTH.DestQP != frame.ReceiverQP(7) {
			t.Errorf("%+v", p)
		}
		if f.Trace == 0 {
			t.Error("the frame names no message")
		}
	}
}
