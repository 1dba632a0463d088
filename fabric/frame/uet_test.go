package frame

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// uetSamples returns a packet of each type, with every field set.
func uetSamples() []UET {
	h := write(WriteOnly)
	h = Packet{
		SrcMAC: h.SrcMAC, DstMAC: h.DstMAC, Src: h.Src, Dst: h.Dst,
		DSCP: h.DSCP, ECN: h.ECN, TTL: h.TTL, SrcPort: h.SrcPort,
	}
	data := h
	data.Payload = 4096
	return []UET{
		{Header: data, Type: UETRequest, Flow: 7, PSN: 1 << 31, Target: 0xabcdef, Message: 9, First: true, AckReq: true, Length: 1 << 20},
		{Header: data, Type: UETRequest, Flow: 7, PSN: 3, Target: 0xffffff, Last: true, Resent: true, Offset: 8192, Length: 12288},
		{Header: h, Type: UETAck, Flow: 0, PSN: 4, State: StateCredit, Credit: 0x123456, Receipt: Receipt{PSN: 4, Marked: true}},
		{Header: h, Type: UETNack, Flow: 65534, PSN: 5, Code: UETOutOfOrder, Expected: 2},
		{Header: h, Type: UETControl, Flow: 1, Control: UETCredit, Credit: 0xfffffffe},
		{Header: h, Type: UETControl, Flow: 1, Control: UETCreditRequest, Credit: 77},
		{Header: data, Type: UETUnordered, Flow: 7, PSN: 2, Message: 9, Resent: true, Offset: 8192, Length: 1 << 20},
		{
			Header: h, Type: UETAck, Flow: 3, PSN: 1<<32 - 2, SACK: SACK{Base: 1, Bitmap: 0xc000_0000_0000_0005},
			Receipt: Receipt{PSN: 7, Resent: true, Penalty: 0x41, Restore: true, Received: 0x123456, OutOfOrder: 0x789a, Service: 0xbcde},
		},
		{Header: h, Type: UETAck, Flow: 3, PSN: 99, State: StateCredit, Credit: 5, SACK: SACK{Base: 101, Bitmap: 1}, Receipt: Receipt{PSN: 98, OutOfOrder: 4}},
		{Header: h, Type: UETNack, Flow: 1, PSN: 5, Code: UETTrimmedLastHop, Receipt: Receipt{Marked: true, Resent: true}},
	}
}

func drawUET(t *rapid.T) UET {
	return rapid.SampledFrom(uetSamples()).Draw(t, "uet")
}

func TestUETRoundTrip(t *testing.T) {
	for _, want := range uetSamples() {
		var f Frame
		want.Build(&f)
		if f.Class() != ClassUET {
			t.Errorf("%+v is %v", want, f.Class())
		}
		var got UET
		if err := got.Parse(&f); err != nil || got != want {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
		}
		if flow, ok := f.UETFlow(); !ok || flow != want.Flow || f.UETType() != want.Type {
			t.Errorf("flow %d, type %d of %+v", flow, f.UETType(), want)
		}
	}
}

// Offsets and widths of the facts, B3: prologue 5+4+7 bits, clear PSN offset 16,
// PSN 32, two contexts of 16, congestion control context 8 with a credit target
// of 24, and a standard semantic header of 44 bytes.
func TestUETRequestBytes(t *testing.T) {
	var f Frame
	u := uetSamples()[0]
	u.Build(&f)
	pds := f.Header()[42:]
	for name, c := range map[string]struct{ got, want uint64 }{
		"type":         {uint64(pds[0] >> 3), 14},
		"next header":  {uint64(binary.BigEndian.Uint16(pds) >> 7 & 15), 3},
		"flags":        {uint64(pds[1] & 0x7f), 0x08},
		"clear offset": {uint64(binary.BigEndian.Uint16(pds[2:])), 0},
		"psn":          {uint64(binary.BigEndian.Uint32(pds[4:])), 1 << 31},
		"source":       {uint64(binary.BigEndian.Uint16(pds[8:])), 8},
		"destination":  {uint64(binary.BigEndian.Uint16(pds[10:])), 8},
		"context":      {uint64(pds[12]), 0},
		"target":       {uint64(binary.BigEndian.Uint32(pds[12:])), 0xabcdef},
		"opcode":       {uint64(pds[16]), 1},
		"ses flags":    {uint64(pds[17]), 1},
		"message":      {uint64(binary.BigEndian.Uint16(pds[18:])), 9},
		"length":       {uint64(binary.BigEndian.Uint32(pds[56:])), 1 << 20},
		"headers":      {uint64(len(pds)), 12 + 4 + 44},
		"udp port":     {uint64(binary.BigEndian.Uint16(f.Header()[36:])), 4793},
		"frame":        {uint64(f.Len()), 14 + 20 + 8 + 60 + 4096 + 4},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", name, c.got, c.want)
		}
	}
}

// Facts, B3: ACK_CC is an ACK of 12 bytes, type and flags of the state 8 bits, MPR
// 8, SACK offset 16, SACK bitmap 64, and a state of 64 bits whose first 24 are the
// credit; a control packet carries its credit in 32 bits.
func TestUETAckAndControlBytes(t *testing.T) {
	var ack, control Frame
	samples := uetSamples()
	samples[2].Build(&ack)
	samples[4].Build(&control)
	pds := ack.Header()[42:]
	if len(pds) != 12+1+1+2+8+8 || pds[0]>>3 != 8 || pds[12]>>4 != 1 || uint24(pds[24:]) != 0x123456 || pds[1]&0x20 == 0 {
		t.Errorf("ACK_CC is % x", pds)
	}
	pds = control.Header()[42:]
	prologue := binary.BigEndian.Uint16(pds)
	if len(pds) != 16 || prologue>>11 != 11 || prologue>>7&15 != 7 || binary.BigEndian.Uint32(pds[12:]) != 0xfffffffe {
		t.Errorf("the credit packet is % x", pds)
	}
}

// NSCC-21: facts, §9: the state of NSCC is service time 16 bits, restore 1, penalty 7, received bytes 24, and
// the number of packets out of order 16. The offsets of the SACK and of the packet that the ACK
// answers are from the cumulative PSN (xdp2).
func TestUETAckOfNSCCBytes(t *testing.T) {
	var f Frame
	u := uetSamples()[7]
	u.Build(&f)
	pds := f.Header()[42:]
	for name, c := range map[string]struct{ got, want uint64 }{
		"length":       {uint64(len(pds)), 32},
		"flags":        {uint64(pds[1] & 0x7f), 0x10},
		"packet":       {uint64(binary.BigEndian.Uint16(pds[2:])), 9},
		"state type":   {uint64(pds[12]), 0},
		"MPR":          {uint64(pds[13]), 0},
		"SACK offset":  {uint64(binary.BigEndian.Uint16(pds[14:])), 3},
		"bitmap":       {binary.BigEndian.Uint64(pds[16:]), 0xc000_0000_0000_0005},
		"service time": {uint64(binary.BigEndian.Uint16(pds[24:])), 0xbcde},
		"penalty":      {uint64(pds[26]), 0xc1},
		"received":     {uint64(uint24(pds[27:])), 0x123456},
		"out of order": {uint64(binary.BigEndian.Uint16(pds[30:])), 0x789a},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", name, c.got, c.want)
		}
	}
	nack := uetSamples()[9]
	nack.Build(&f)
	if pds := f.Header()[42:]; pds[2] != 2 || pds[1]&0x7f != 0x30 || len(pds) != 16 {
		t.Errorf("the NACK of a trimmed packet is % x", pds)
	}
}

func TestUETParseRejectsUnsupportedPackets(t *testing.T) {
	for name, spoil := range map[string]func(*Frame){
		"no context":        func(f *Frame) { f.head[pdsDest], f.head[pdsDest+1] = 0, 0 },
		"two contexts":      func(f *Frame) { f.head[pdsSource+1]++ },
		"semantic opcode":   func(f *Frame) { f.head[sesStart] = 2 },
		"a job":             func(f *Frame) { f.head[sesStart+8] = 1 },
		"UDP checksum":      func(f *Frame) { f.head[udpChecksum] = 1 },
		"IP checksum":       func(f *Frame) { f.head[ipChecksum]++ },
		"type":              func(f *Frame) { f.head[pdsPrologue] ^= 0x08 },
		"length of payload": func(f *Frame) { f.head[sesLength]-- }, // a longer one is that of a trimmed packet
	} {
		t.Run(name, func(t *testing.T) {
			var f Frame
			u := uetSamples()[1]
			u.Build(&f)
			spoil(&f)
			var got UET
			if err := got.Parse(&f); err == nil || got != (UET{}) {
				t.Errorf("accepted as %+v", got)
			}
		})
	}
}
