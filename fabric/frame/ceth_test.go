package frame

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const acknowledgement = "020000000002" + "020000000001" + "0800" // Ethernet

// CETH-18: form 1 is BTH, AETH, CETH, the CETH right after the AETH.
// CETH-23: the ACK is Ethernet, IP, UDP, BTH, AETH, CETH, ICRC, FCS.
// CETH-26: BECN is bit 6 of byte 4 of the BTH, an ACK has opcode 0x11, the CETH
// starts 16 bytes after the BTH.
// CETH-28: ver and length, then the vendor's part.
// CETH-37: ver and length; ratio, type, scenario; switch and port; depth; delay.
func TestBuildCETH(t *testing.T) {
	for words, want := range []string{
		"",
		"11" + "a2" + "01" + "02",
		"12" + "a2" + "01" + "02" + "01020304",
		"13" + "a2" + "01" + "02" + "01020304" + "05060708",
		"14" + "a2" + "01" + "02" + "01020304" + "05060708" + "00000000",
	} {
		f := built(aggregated(uint8(words)))
		length := len(f.Header()) - 14 + ICRCLen
		if diff := cmp.Diff(unhex(t, acknowledgement), f.Header()[:14]); diff != "" {
			t.Error(diff)
		}
		if got := int(binary.BigEndian.Uint16(f.Header()[16:])); got != length {
			t.Errorf("IP length %d, want %d", got, length)
		}
		const bth, aeth = "11" + "00" + "ffff" + "40" + "800017" + "80" + "123456", "1f" + "000001"
		if diff := cmp.Diff(unhex(t, bth+aeth+want), f.Header()[42:]); diff != "" {
			t.Errorf("%d words: %s", words, diff)
		}
		if got, least := int64(f.Len()), int64(58+4*words+ICRCLen+FCSLen); got != least {
			t.Errorf("%d words: Len %d, want %d", words, got, least)
		}
	}
}

// CETH-37: the codes of degree, type and scenario, which are this project's: byte 1 of
// the CETH is 2 bits of ratio, the type, 4 bits of scenario and a 0.
func TestCETHCodePoints(t *testing.T) {
	for _, tt := range []struct {
		c    Congestion
		want byte
	}{
		{Congestion{Ratio: RatioNone, Service: ServiceUnknown}, 0b00_0_0000_0},
		{Congestion{Ratio: RatioLight, Service: ServiceWrite}, 0b01_0_0001_0},
		{Congestion{Ratio: RatioMedium, Service: ServiceReadResponse}, 0b10_0_0010_0},
		{Congestion{Ratio: RatioHeavy, Service: ServiceUD}, 0b11_0_0011_0},
		{Congestion{Enhanced: true}, 0b00_1_0000_0},
	} {
		h := tt.c.CETH(1)
		if h.Vendor[0] != tt.want {
			t.Errorf("%+v: byte 1 is %08b, want %08b", tt.c, h.Vendor[0], tt.want)
		}
		got, _ := h.Congestion()
		if got.Ratio != tt.c.Ratio || got.Service != tt.c.Service || got.Enhanced != tt.c.Enhanced {
			t.Errorf("%+v is read as %+v", tt.c, got)
		}
	}
}

// CETH-14, CETH-15: BECN is the indication; an ACK without it has no CETH, and a
// CETH sets it.
func TestCETHImpliesTheIndication(t *testing.T) {
	p := aggregated(1)
	p.BTH.BECN = false
	f := built(p)
	if _, ok := f.CETH(); !ok || !f.BECN() {
		t.Error("a CETH was built without its indication")
	}
	f.head[f.at(bthECN)] &^= becn | 0x3f
	if _, ok := f.CETH(); ok {
		t.Error("a CETH is read without its indication")
	}
	if err := new(Packet).Parse(f); !errors.Is(err, errLength) {
		t.Errorf("Parse = %v", err)
	}
	clear := built(write(Acknowledge))
	if _, ok := clear.CETH(); ok || clear.BECN() {
		t.Error("an ACK as it always was has a CETH")
	}
}

// CETH-16: layouts a and c: an ACK with a CETH equals the ACK without it,
// except for BECN, the lengths and the IP checksum, which every header changes.
func TestCETHDoesNotChangeOtherHeaders(t *testing.T) {
	with, without := aggregated(3), aggregated(0)
	a, b := built(with).Header()[:58], built(without).Header()
	for i := range b {
		moved := i == 16 || i == 17 || i == 24 || i == 25 || i == 38 || i == 39
		if !moved && a[i] != b[i] {
			t.Errorf("byte %d is %02x with a CETH, %02x without", i, a[i], b[i])
		}
	}
}

// CETH-29, CETH-31, CETH-32: 4 bits of version, 4 bits of length in words, and
// 4*length - 1 bytes for the vendor.
func TestCETHStandardPart(t *testing.T) {
	for version := range uint8(16) {
		for words := uint8(1); words <= 4; words++ {
			c := CETH{Version: version, Words: words}
			for i := range int(words)*4 - 1 {
				c.Vendor[i] = byte(0x80 + i)
			}
			p := write(Acknowledge)
			p.CETH = c
			f := built(p)
			b := f.Header()[58:]
			if len(b) != int(words)*4 || b[0] != version<<4|words || b[len(b)-1] != byte(0x80+len(b)-2) {
				t.Errorf("version %d, %d words: % x", version, words, b)
			}
			if got, ok := f.CETH(); !ok || got != c {
				t.Errorf("read %+v, want %+v", got, c)
			}
		}
	}
}

// CETH-30: version 0 carries no other information, 1 to 15 are the vendors'.
// CETH-38: a header of an unknown version is skipped by its length.
func TestCETHVersions(t *testing.T) {
	for version := range uint8(16) {
		c := aggregated(3).CETH
		c.Version = version
		if _, known := c.Congestion(); known != (version == 1) {
			t.Errorf("version %d: known %v", version, known)
		}
		p := aggregated(3)
		p.CETH.Version, p.SACK = version, SACK{0x123456, 0xf0}
		var got Packet
		if err := got.Parse(built(p)); err != nil || got.SACK != p.SACK {
			t.Errorf("version %d: SACK %+v, %v", version, got.SACK, err)
		}
	}
}

// CETH-33, CETH-34, CETH-35, CETH-36: ratio, type, scenario, and location,
// depth and delay as the length permits; omitted items are unknown.
func TestCongestionItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Congestion{
			Ratio: Ratio(rapid.Uint8Range(0, 3).Draw(t, "ratio")), Enhanced: rapid.Bool().Draw(t, "type"),
			Service: Service(rapid.Uint8Range(0, 15).Draw(t, "scenario")),
			Switch:  rapid.Uint8().Draw(t, "switch"), Port: rapid.Uint8().Draw(t, "port"),
			Depth: rapid.Uint32().Draw(t, "depth"), Delay: rapid.Uint32().Draw(t, "delay"),
		}
		words := rapid.Uint8Range(1, 4).Draw(t, "words")
		p := write(Acknowledge)
		p.CETH = c.CETH(words)
		h, ok := built(p).CETH()
		got, known := h.Congestion()
		want := c
		if words < 2 {
			want.Depth = NoDepth
		}
		if words < 3 {
			want.Delay = NoDelay
		}
		if !ok || !known || got != want {
			t.Fatalf("%d words: %+v, want %+v", words, got, want)
		}
	})
}

// CETH-17, CETH-19, CETH-20: the forms inside Reserved 6 and Reserved 7 do not
// make the ACK longer, and do not change FECN, BECN and AckReq.
// CETH-21: version 4 bits, ratio 2, and in Reserved 7 type 1; or the ratio
// only.
func TestShortCETH(t *testing.T) {
	plain := built(aggregated(0))
	for version := range uint8(16) {
		for ratio := range Ratio(4) {
			for _, enhanced := range []bool{false, true} {
				s := ShortCETH{version, ratio, enhanced}
				p, q := aggregated(0), aggregated(0)
				p.BTH.Resv6, q.BTH.Resv7 = s.Resv6(), s.Resv7()
				first, second := built(p), built(q)
				if first.Header()[46] != 0x40|version<<2|uint8(ratio) || second.Header()[50] != 0x80|version<<3|uint8(ratio)<<1|bit(enhanced, 1) {
					t.Errorf("%+v: %02x and %02x", s, first.Header()[46], second.Header()[50])
				}
				if first.Len() != plain.Len() || second.Len() != plain.Len() {
					t.Errorf("%+v: %d and %d bytes", s, first.Len(), second.Len())
				}
				if got := ShortOfResv6(first.Resv6()); got != (ShortCETH{version, ratio, false}) {
					t.Errorf("Reserved 6 encodes %+v, want %+v", got, s)
				}
				if got := ShortOfResv7(second.Resv7()); got != s {
					t.Errorf("Reserved 7 encodes %+v, want %+v", got, s)
				}
			}
		}
	}
}

// CETH-27: form 2a may be written in flight, forms 1 and 2b count in the ICRC.
func TestCETHAndICRC(t *testing.T) {
	icrc := func(f *Frame) uint32 {
		wire := f.Materialise(nil)
		return binary.LittleEndian.Uint32(wire[len(wire)-ICRCLen:])
	}
	want := icrc(built(aggregated(3)))
	f := built(aggregated(3))
	f.SetBECN(ShortCETH{1, RatioHeavy, false}.Resv6())
	if got := icrc(f); got != want {
		t.Error("the ICRC covers Reserved 6")
	}
	p := aggregated(3)
	p.BTH.Resv7 = ShortCETH{1, RatioHeavy, false}.Resv7()
	if icrc(built(p)) == want {
		t.Error("the ICRC does not cover Reserved 7")
	}
	for i := range 11 {
		p := aggregated(3)
		p.CETH.Vendor[i] ^= 1
		if icrc(built(p)) == want {
			t.Errorf("the ICRC does not cover byte %d of the vendor's part", i)
		}
	}
}

// CETH-24: a SACK header, code 010, may follow a CETH of any length: 8 bits
// that begin with the code, 24 bits of base PSN, 64 bits of bitmap.
// CETH-25: the last field of a frame is the Ethernet FCS, 4 bytes.
func TestSACKFollowsCETH(t *testing.T) {
	for words := uint8(1); words <= 4; words++ {
		p := aggregated(words)
		before := built(p).Len()
		p.SACK = SACK{0x000102, 0x8000000000000001}
		f := built(p)
		if diff := cmp.Diff(unhex(t, "40"+"000102"+"8000000000000001"), f.Header()[58+4*words:]); diff != "" {
			t.Errorf("%d words: %s", words, diff)
		}
		if f.Len() != before+12 || len(f.Materialise(nil)) != int(f.Len())-FCSLen {
			t.Errorf("%d words: %d bytes, %d with a SACK", words, before, f.Len())
		}
		f.head[58+4*words] = 0x60 // code 011
		if err := new(Packet).Parse(f); !errors.Is(err, errNext) {
			t.Errorf("another code: %v", err)
		}
		if _, ok := f.CETH(); !ok {
			t.Error("no CETH found before another header")
		}
	}
}

// A CETH that is truncated or has an invalid length is rejected.
func TestInvalidCETH(t *testing.T) {
	for name, head := range map[string]byte{"no words": 0x10, "5 words": 0x15, "cut short": 0x14} {
		p := aggregated(3)
		f := built(p)
		f.head[58] = head
		if _, ok := f.CETH(); ok {
			t.Errorf("%s: read", name)
		}
		if err := new(Packet).Parse(f); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: Parse = %v", name, err)
		}
	}
	p := write(WriteOnly)
	p.CETH, p.SACK = aggregated(2).CETH, SACK{1, 1}
	if f := built(p); int(f.n) != f.extensionsEnd() {
		t.Error("a data packet was given a CETH")
	}
}
