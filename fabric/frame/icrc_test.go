package frame

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

const cnpVector = "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a0012010000" +
	"12b7002800008100ffff400001180000000000000000000000000000000000000000"

// A captured CNP of a ConnectX-4 Lx, and a SEND of an unreliable connection with
// two bytes of pad.
func TestICRCVectors(t *testing.T) {
	for name, c := range map[string]struct{ packet, icrc string }{
		"cnp": {cnpVector[2*14:], "82fd002a"},
		"send-only": {"45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d3" +
			"00cf17104630818be28935d90e9a95505401be885e500000", "78f353f3"},
	} {
		t.Run(name, func(t *testing.T) {
			want := binary.LittleEndian.Uint32(unhex(t, c.icrc))
			if got := ICRC(unhex(t, c.packet)); got != want {
				t.Errorf("ICRC = %08x, want %08x", got, want)
			}
		})
	}
}

// The captured CNP is parsed and rebuilt unchanged.
func TestCapturedCNP(t *testing.T) {
	var f, again Frame
	f.SetHeader(unhex(t, cnpVector))
	var p Packet
	if err := p.Parse(&f); err != nil {
		t.Fatal(err)
	}
	p.Build(&again)
	if f != again {
		t.Errorf("built % x", again.Header())
	}
	if p.DSCP != 48 || p.ECN != ECT0 || p.BTH.DestQP != 0x118 || p.BTH.PSN != 0 || !p.BTH.BECN {
		t.Errorf("%+v", p)
	}
	want := append(unhex(t, cnpVector), unhex(t, "82fd002a")...)
	if got := f.Materialise(nil); string(got) != string(want) {
		t.Errorf("materialised % x", got)
	}
}

// CETH-27: the byte of FECN, BECN and Resv6 may be rewritten in flight, the
// byte of AckReq and Resv7 may not. Every other bit that a switch must not
// change is covered too.
func TestICRCCoverage(t *testing.T) {
	packet := built(write(WriteFirst)).Materialise(nil)[14:]
	packet = packet[:len(packet)-ICRCLen]
	want := ICRC(packet)
	free := map[int]bool{1: true, 8: true, 10: true, 11: true, 26: true, 27: true, 28 + 4: true}
	for i := range packet {
		for b := range 8 {
			packet[i] ^= 1 << b
			if same := ICRC(packet) == want; same != free[i] {
				t.Fatalf("byte %d bit %d: ICRC the same: %v, want %v", i, b, same, free[i])
			}
			packet[i] ^= 1 << b
		}
	}
}

// slowICRC computes the CRC bit by bit over a copy of the packet, with eight
// bytes of ones before it and ones in the masked fields.
func slowICRC(packet []byte) uint32 {
	b := append([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), packet...)
	for _, i := range []int{1, 8, 10, 11, 26, 27, 32} {
		b[8+i] = 0xff
	}
	crc := ^uint32(0)
	for _, x := range b {
		crc ^= uint32(x)
		for range 8 {
			crc = crc>>1 ^ 0xedb88320*(crc&1)
		}
	}
	return ^crc
}

func TestICRCTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 40, 200).Draw(t, "packet")
		if got, want := ICRC(b), slowICRC(b); got != want {
			t.Fatalf("ICRC = %08x, want %08x", got, want)
		}
	})
}

func TestMaterialise(t *testing.T) {
	for name, f := range map[string]*Frame{
		"data":  built(write(WriteOnly)),
		"short": built(Packet{BTH: BTH{Opcode: WriteLast}}),
		"other": {Payload: 9},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.Materialise([]byte("before"))
			if string(got[:6]) != "before" || int64(len(got)) != 6+int64(f.Len())-FCSLen {
				t.Errorf("%d bytes for a Len of %d: % x", len(got), f.Len(), got)
			}
		})
	}
}
