package frame

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The bytes of an atomic request and its response from the BTH on, written by
// hand from the layouts.
func TestBuildAtomics(t *testing.T) {
	request := write(CompareSwap)
	request.Atomic = AtomicETH{VA: 0x1122334455667788, RKey: 0x99aabbcc, Swap: 0x0102030405060708, Compare: 0x1112131415161718}
	answer := write(AtomicAcknowledge)
	answer.AETH, answer.Original = AETH{SyndromeACK, 3}, 0x2122232425262728
	for _, c := range []struct {
		packet Packet
		want   string
	}{
		{request, "13" + "00" + "ffff" + "00" + "800017" + "80" + "123456" +
			"1122334455667788" + "99aabbcc" + "0102030405060708" + "1112131415161718"},
		{answer, "12" + "00" + "ffff" + "00" + "800017" + "80" + "123456" + "1f000003" + "2122232425262728"},
	} {
		if diff := cmp.Diff(unhex(t, c.want), built(c.packet).Header()[bthOpcode:]); diff != "" {
			t.Errorf("%v: %s", c.packet.BTH.Opcode, diff)
		}
	}
}

// Len returns the length of the frame that Build writes.
func TestPacketLen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPacket(t)
		if got, want := p.Len(), built(p).Len(); got != want {
			t.Fatalf("%v with %d bytes: Len %d, built %d", p.BTH.Opcode, p.Payload, got, want)
		}
	})
}

// An independent tool reads lengths, addresses and operands of READ and
// atomics.
func TestTsharkDissectsReadsAndAtomics(t *testing.T) {
	read, swap, ack := write(ReadRequest), write(CompareSwap), write(AtomicAcknowledge)
	read.RETH = RETH{VA: 4096, RKey: 7, Length: 2048}
	swap.Atomic = AtomicETH{VA: 8, RKey: 7, Swap: 11, Compare: 12}
	ack.AETH, ack.Original = AETH{SyndromeACK, 1}, 13
	rows := []captureRow{
		{built(read), "12|0x0000000000001000|2048|||"},
		{built(write(ReadResponseFirst)), "13|||||"},
		{built(write(ReadResponseMiddle)), "14|||||"},
		{built(write(ReadResponseLast)), "15|||||"},
		{built(write(ReadResponseOnly)), "16|||||"},
		{built(swap), "19|0x0000000000000008||11|12|"},
		{built(ack), "18|||||13"},
	}
	got := tshark(t, writeCapture(t, rows), "-T", "fields", "-E", "separator=|",
		"-e", "infiniband.bth.opcode", "-e", "infiniband.reth.va", "-e", "infiniband.reth.dmalen",
		"-e", "infiniband.atomiceth.swapdt", "-e", "infiniband.atomiceth.cmpdt", "-e", "infiniband.atomicacketh.origremdt")
	var want []string
	for _, r := range rows {
		want = append(want, r.want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
