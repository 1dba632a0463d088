package frame

import "encoding/binary"

// Ratio is the class of congestion, 2 bits (¶142).
type Ratio uint8

// Classes of congestion.
const (
	RatioNone Ratio = iota
	RatioLight
	RatioMedium
	RatioHeavy
)

// Service is the scenario of a notification, 4 bits (¶143). The codes are this
// project's.
type Service uint8

// Scenarios.
const (
	ServiceUnknown      Service = iota
	ServiceWrite                // RC or XRC, WRITE or SEND
	ServiceReadResponse         // RC or XRC, response to a READ
	ServiceUD                   // UD, SEND
)

// Values of unknown items.
const (
	NoSwitch = 0xff
	NoPort   = 0xff
	NoDepth  = 1<<32 - 1
	NoDelay  = 1<<32 - 1
)

// Congestion is the vendor part of a CETH of version 1. The document names the
// items and some widths (¶142, ¶143), but its figure 8 is lost. The order is
// this project's.
//
//	byte 1    ratio 2 bits, type 1, scenario 4, 0
//	byte 2    switch     3  port           length 1 and more
//	bytes 4   depth                        length 2 and more
//	bytes 8   delay                        length 3 and more
//	bytes 12  0                            length 4
type Congestion struct {
	Ratio    Ratio
	Enhanced bool // type: a notification with information, not an ordinary CNP
	Service  Service
	Switch   uint8  // location: number of the switch; NoSwitch: unknown, or above 254
	Port     uint8  // location: its egress port; NoPort: unknown, or above 254
	Depth    uint32 // of the queue there, in bytes; NoDepth: unknown
	Delay    uint32 // of the path, in nanoseconds; NoDelay: unknown
}

// CETH returns the header with as many items as fit into the given number of
// words, 1 to 4.
func (c *Congestion) CETH(words uint8) CETH {
	h := CETH{Version: CETHVersion, Words: words}
	var v [CETHMaxLen]byte
	v[1] = byte(c.Ratio)<<6 | bit(c.Enhanced, 0x20) | byte(c.Service&0x0f)<<1
	v[2], v[3] = c.Switch, c.Port
	binary.BigEndian.PutUint32(v[4:], c.Depth)
	binary.BigEndian.PutUint32(v[8:], c.Delay)
	copy(h.Vendor[:max(h.len(), 1)-1], v[1:])
	return h
}

// Congestion parses the vendor part. It returns false if the version is not
// this package's. Items beyond the header's length are unknown.
func (c *CETH) Congestion() (Congestion, bool) {
	if c.Version != CETHVersion {
		return Congestion{}, false
	}
	v := &c.Vendor
	g := Congestion{
		Ratio: Ratio(v[0] >> 6), Enhanced: v[0]&0x20 != 0, Service: Service(v[0] >> 1 & 0x0f),
		Switch: v[1], Port: v[2], Depth: NoDepth, Delay: NoDelay,
	}
	if c.Words >= 2 {
		g.Depth = binary.BigEndian.Uint32(v[3:])
	}
	if c.Words >= 3 {
		g.Delay = binary.BigEndian.Uint32(v[7:])
	}
	return g, true
}

// ShortCETH is a CETH inside the reserved bits of the BTH, without a header of
// its own (figure 10, ¶157 to ¶159):
//
//	Reserved 6, the first CETH    version 4 bits, ratio 2
//	Reserved 7, the second CETH   version 4 bits, ratio 2, type 1
//
// The order is this project's: it is the only one that fills each field
// exactly. A profile with the ratio only leaves version and type 0.
type ShortCETH struct {
	Version  uint8
	Ratio    Ratio
	Enhanced bool // in Reserved 7 only
}

// Resv6 returns the first CETH, 6 bits.
func (s ShortCETH) Resv6() uint8 { return s.Version&0x0f<<2 | uint8(s.Ratio&3) }

// Resv7 returns the second CETH, 7 bits.
func (s ShortCETH) Resv7() uint8 { return s.Resv6()<<1 | bit(s.Enhanced, 1) }

// ShortOfResv6 parses a first CETH.
func ShortOfResv6(bits uint8) ShortCETH {
	return ShortCETH{Version: bits >> 2 & 0x0f, Ratio: Ratio(bits & 3)}
}

// ShortOfResv7 parses a second CETH.
func ShortOfResv7(bits uint8) ShortCETH {
	s := ShortOfResv6(bits >> 1)
	s.Enhanced = bits&1 != 0
	return s
}
