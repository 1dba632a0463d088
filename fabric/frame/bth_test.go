package frame

import "testing"

// CETH-26: byte 4 of the BTH is FECN, BECN, Resv6; byte 8 is AckReq, Resv7; an ACK
// has opcode 0x11 and an AETH of syndrome 8 and MSN 24 bits that ends 16 bytes
// after the start of the BTH, where CETH starts.
func TestBTHPositions(t *testing.T) {
	const bth = 14 + 20 + 8
	for name, c := range map[string]struct {
		set  BTH
		at   int
		want byte
	}{
		"FECN":   {BTH{FECN: true}, 4, 0x80},
		"BECN":   {BTH{BECN: true}, 4, 0x40},
		"Resv6":  {BTH{Resv6: 0x3f}, 4, 0x3f},
		"AckReq": {BTH{AckReq: true}, 8, 0x80},
		"Resv7":  {BTH{Resv7: 0x7f}, 8, 0x7f},
	} {
		t.Run(name, func(t *testing.T) {
			c.set.Opcode = Acknowledge
			h := built(Packet{BTH: c.set}).Header()
			for _, at := range []int{4, 8} {
				want := byte(0)
				if at == c.at {
					want = c.want
				}
				if h[bth+at] != want {
					t.Errorf("byte %d is %#x, want %#x", at, h[bth+at], want)
				}
			}
		})
	}
	h := built(Packet{BTH: BTH{Opcode: Acknowledge}, AETH: AETH{SyndromeACK, 0x010203}}).Header()
	if h[bth] != 0x11 || string(h[bth+12:]) != "\x1f\x01\x02\x03" {
		t.Errorf("ACK: % x", h[bth:])
	}
}

func TestPadCount(t *testing.T) {
	for n, want := range map[uint32]uint8{0: 0, 1: 3, 2: 2, 3: 1, 4: 0, 1000: 0, 1<<32 - 1: 1} {
		if got := PadCount(n); got != want {
			t.Errorf("PadCount(%d) = %d, want %d", n, got, want)
		}
	}
}
