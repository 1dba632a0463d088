package frame

import (
	"encoding/binary"
	"testing"
)

// PCN-39: a CNP of PCN has the format of a RoCEv2 CNP; one code point of ECN in
// the IP header means congested, and the receiving rate is 32 bits in Mbit/s.
func TestCNPFormat(t *testing.T) {
	for _, ecn := range []ECN{CE, ECT0} {
		f := built(Packet{ECN: ecn, BTH: BTH{Opcode: OpcodeCNP, PKey: DefaultPKey}, RecRate: 38000})
		if f.Class() != ClassRoCE || f.Opcode() != 0x81 || !f.BECN() {
			t.Fatalf("no CNP: % x", f.Header())
		}
		h := f.Header()
		if ip, udp := binary.BigEndian.Uint16(h[16:]), binary.BigEndian.Uint16(h[38:]); ip != 60 || udp != 40 {
			t.Errorf("IP length %d, UDP length %d, want 60 and 40", ip, udp)
		}
		if f.ECN() != ecn || ECN(h[15]&3) != ecn {
			t.Errorf("ECN %d, want %d", f.ECN(), ecn)
		}
		if f.RecRate() != 38000 {
			t.Errorf("RecRate %d", f.RecRate())
		}
	}
}

// PCN-40: RecRate is in the first four of the 16 reserved bytes after the BTH,
// big-endian, the rest 0.
func TestCNPRecRatePosition(t *testing.T) {
	h := built(Packet{BTH: BTH{Opcode: OpcodeCNP}, RecRate: 0x01020304}).Header()
	if got, want := string(h[14+20+8+12:]), "\x01\x02\x03\x04"+string(make([]byte, 12)); got != want {
		t.Errorf("reserved bytes % x", got)
	}
}
