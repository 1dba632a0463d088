package frame

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// SetECN yields the frame that Build would write with that code point.
func TestSetECN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPacket(t)
		f := built(p)
		for range 3 {
			p.ECN = ECN(uintBelow(t, 4, "ecn"))
			f.SetECN(p.ECN)
			if *f != *built(p) {
				t.Fatalf("ECN %d: % x, want % x", p.ECN, f.Header(), built(p).Header())
			}
		}
	})
}

// Every possible checksum, from any sum, with the code point increasing and
// decreasing.
func TestSetECNEveryChecksum(t *testing.T) {
	p := write(WriteOnly)
	for id := range 1 << 16 {
		for _, e := range [][2]ECN{{NotECT, CE}, {CE, NotECT}} {
			p.ID, p.ECN = uint16(id), e[0]
			f := built(p)
			f.SetECN(e[1])
			if p.ECN = e[1]; *f != *built(p) {
				t.Fatalf("ID %d, ECN %d to %d: checksum % x", id, e[0], e[1], f.head[ipChecksum:ipSrc])
			}
		}
	}
}

// An incremental update preserves a checksum error.
func TestSetECNKeepsError(t *testing.T) {
	f := built(write(WriteOnly))
	f.head[ipChecksum] ^= 0x10
	f.SetECN(CE)
	var p Packet
	if err := p.Parse(f); !errors.Is(err, errChecksum) {
		t.Errorf("Parse = %v", err)
	}
}

// The sum of 32-bit words gives the checksum of RFC 791, which adds words of 16 bits, and the
// verdict of a receiver.
func TestIPSumAgainstWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Frame
		octet := rapid.OneOf(rapid.Just(byte(0)), rapid.Just(byte(0xff)), rapid.Byte())
		copy(f.head[ipVersion:ipEnd], rapid.SliceOfN(octet, ipEnd-ipVersion, ipEnd-ipVersion).Draw(t, "header"))
		if rapid.Bool().Draw(t, "valid") {
			f.head[ipChecksum], f.head[ipChecksum+1] = 0, 0
			f.putChecksum(f.ipSum())
		}
		var words uint32
		for i := ipVersion; i < ipEnd; i += 2 {
			words += uint32(f.head[i])<<8 | uint32(f.head[i+1])
		}
		var want, got Frame
		want.putChecksum(words)
		got.putChecksum(f.ipSum())
		if valid := words>>16+words&0xffff == 0xffff; got != want || valid != (f.ipSum()>>16+f.ipSum()&0xffff == 0xffff) {
			t.Fatalf("% x: checksum % x, want % x; valid %t", f.head[ipVersion:ipEnd], got.head[ipChecksum:ipSrc], want.head[ipChecksum:ipSrc], valid)
		}
	})
}
