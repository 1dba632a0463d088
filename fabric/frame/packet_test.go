package frame

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The bytes of a WRITE first, written by hand from the layouts.
func TestBuildWriteFirst(t *testing.T) {
	p := write(WriteFirst)
	p.RETH = RETH{VA: 0x1122334455667788, RKey: 0x99aabbcc, Length: 64000}
	want := unhex(t, ""+
		"020000000002"+"020000000001"+"0800"+
		"45"+"6a"+"0424"+"0000"+"4000"+"40"+"11"+"225b"+"0a000002"+"0a000003"+
		"c001"+"12b7"+"0410"+"0000"+
		"06"+"00"+"ffff"+"00"+"800017"+"80"+"123456"+
		"1122334455667788"+"99aabbcc"+"0000fa00")
	f := built(p)
	if diff := cmp.Diff(want, f.Header()); diff != "" {
		t.Error(diff)
	}
	if f.Payload != 1000 {
		t.Errorf("Payload = %d", f.Payload)
	}
}

func TestBuildKeepsArrivalAndTrace(t *testing.T) {
	f := Frame{Arrival: 5, Trace: 6}
	p := write(WriteOnly)
	p.Build(&f)
	new(PFC).Build(&f)
	if f.Arrival != 5 || f.Trace != 6 {
		t.Errorf("Arrival %d, Trace %d", f.Arrival, f.Trace)
	}
}

func TestBuildParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPacket(t)
		f := built(p)
		var q Packet
		if err := q.Parse(f); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, q); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Build overwrites all state of a reused frame.
func TestBuildResetsTheFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := drawPacket(t), drawPacket(t)
		f := built(first)
		second.Build(f)
		if *f != *built(second) {
			t.Fatal("bytes of an earlier packet remain")
		}
	})
}

func TestAccessors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPacket(t)
		f := built(p)
		got := p
		got.SrcMAC, got.DstMAC, got.Src, got.Dst = f.SrcMAC(), f.DstMAC(), f.SrcIP(), f.DstIP()
		got.DSCP, got.ECN, got.SrcPort = f.DSCP(), f.ECN(), f.SrcPort()
		if got.Mirrored = f.Mirrored(); got.Mirrored {
			got.SrcPort = f.DstPort()
		}
		got.BTH.Opcode, got.BTH.DestQP, got.BTH.PSN = f.Opcode(), f.DestQP(), f.PSN()
		got.BTH.AckReq, got.BTH.BECN = f.AckReq(), f.BECN()
		if p.BTH.Opcode.HasRETH() {
			got.RETH.Length = f.DMALength()
		}
		if p.BTH.Opcode.HasAETH() {
			got.AETH = AETH{f.Syndrome(), f.MSN()}
		}
		if p.BTH.Opcode == OpcodeCNP {
			got.RecRate = f.RecRate()
		}
		if h, ok := f.CETH(); ok {
			got.CETH = h
		}
		got.BTH.Resv6, got.BTH.Resv7 = f.Resv6(), f.Resv7()
		if got.Timestamped = f.Timestamped(); got.Timestamped {
			got.Timestamps = f.Timestamps()
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Values wider than their fields on the wire are truncated and do not spill
// over.
func TestBuildTruncatesThePayload(t *testing.T) {
	wide := write(Acknowledge)
	wide.DSCP, wide.ECN = 0xff, 0xff
	wide.BTH.Pad, wide.BTH.Resv6, wide.BTH.Resv7 = 0xff, 0xff, 0xff
	wide.BTH.DestQP, wide.BTH.PSN, wide.AETH.MSN = 1<<32-1, 1<<32-1, 1<<32-1
	wide.Payload = 4
	cut := wide
	cut.DSCP, cut.ECN = 63, CE
	cut.BTH.Pad, cut.BTH.Resv6, cut.BTH.Resv7 = 3, 63, 127
	cut.BTH.DestQP, cut.BTH.PSN, cut.AETH.MSN = mask24, mask24, mask24
	var got Packet
	if err := got.Parse(built(wide)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cut, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseRejectsInvalidFrames(t *testing.T) {
	for name, c := range map[string]struct {
		op    Opcode
		spoil func(f *Frame)
		want  error
	}{
		"class":         {WriteOnly, func(f *Frame) { f.Payload++ }, errClass},
		"longer header": {Acknowledge, lengthen, errLength},
		"may fragment":  {WriteOnly, func(f *Frame) { f.head[ipFlags] = 0 }, errFlags},
		"IP checksum":   {WriteOnly, func(f *Frame) { f.head[ipTTL]++ }, errChecksum},
		"UDP checksum":  {WriteOnly, func(f *Frame) { f.head[udpChecksum] = 1 }, errUDPChecksum},
		"BTH version":   {WriteOnly, func(f *Frame) { f.head[bthFlags] |= 2 }, errVersion},
		"no timestamps": {WriteOnly, func(f *Frame) { f.head[bthFlags] |= 1 }, errClass},
		"pad":           {Acknowledge, func(f *Frame) { f.head[bthFlags] |= 0x10 }, errPad},
		"CNP, no BECN":  {OpcodeCNP, func(f *Frame) { f.head[bthECN] = 0 }, errBECN},
		"CNP, reserved": {OpcodeCNP, func(f *Frame) { f.head[cnpReserved+11] = 1 }, errReserved},
	} {
		t.Run(name, func(t *testing.T) {
			f := built(write(c.op))
			c.spoil(f)
			var p Packet
			err := p.Parse(f)
			if !errors.Is(err, c.want) || !errors.Is(err, ErrMalformed) {
				t.Errorf("Parse = %v, want %v", err, c.want)
			}
			if p != (Packet{}) {
				t.Error("a refused frame has left its mark")
			}
		})
	}
}

// lengthen moves four bytes of payload into the header and keeps the lengths
// consistent.
func lengthen(f *Frame) {
	f.SetHeader(append(f.Header(), 0, 0, 0, 0))
	n := uint16(f.n) - ethEnd + ICRCLen
	binary.BigEndian.PutUint16(f.head[ipLength:], n)
	binary.BigEndian.PutUint16(f.head[udpLength:], n-20)
}

// CETH-22: a data packet is MAC, IP, UDP, BTH, payload, ICRC and frame check
// sequence, or has ImmDt between BTH and payload.
func TestDataPacketForms(t *testing.T) {
	for op, ext := range map[Opcode]int{WriteMiddle: 0, WriteLastImm: 4} {
		p := write(op)
		p.Imm = 0xdeadbeef
		f := built(p)
		wire := f.Materialise(nil)
		payload := wire[54+ext : len(wire)-4]
		if len(payload) != 1000 || int64(f.Len()) != int64(len(wire)+4) {
			t.Fatalf("%v: %d bytes of payload, %d materialised, Len %d", op, len(payload), len(wire), f.Len())
		}
		if ext > 0 && binary.BigEndian.Uint32(wire[54:]) != p.Imm {
			t.Errorf("%v: no ImmDt after the BTH: % x", op, wire[54:58])
		}
		if got := binary.LittleEndian.Uint32(wire[len(wire)-4:]); got != ICRC(wire[14:len(wire)-4]) {
			t.Errorf("%v: the ICRC does not follow the payload", op)
		}
	}
}

func TestMaxPayload(t *testing.T) {
	for _, op := range knownOpcodes() {
		p := write(op)
		p.Payload = MaxPayload
		if c := built(p).Class(); c != ClassRoCE {
			t.Errorf("%v with the largest payload is %v", op, c)
		}
		p.Payload = 1 << 16
		if c := built(p).Class(); c != ClassMalformed {
			t.Errorf("%v with a payload beyond IP is %v", op, c)
		}
	}
}
