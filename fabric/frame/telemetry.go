package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// In-band telemetry: what switches write into a data packet on its way. It stands
// between UDP and BTH, as INT v2.1 has it for RoCEv2 ("INT over TCP/UDP"): the
// UDP destination port announces it, and a shim of 4 bytes keeps the port that
// the packet had. No port has been assigned; these are of the dynamic range.
//
//	shim      kind 8, length 8 in words without the shim, PortRoCE 16
//	header    of INT or IOAM: what each hop writes, and how many still may
//	hops      the latest first, hopLen bytes each
//
// The ICRC is that of the packet without telemetry: the NIC that takes it out
// restores what its peer has sent.
const (
	PortINT  = 65001
	PortIOAM = 65002

	shimLen = 4
	hopLen  = 20 // node, ports, queue and instant, with either carrier

	// MaxHops is how many hops fit in a frame.
	MaxHops = 5
	// telemetryRoom is the longest telemetry in bytes: shim, INT header, hops.
	telemetryRoom = shimLen + intLen + MaxHops*hopLen
	// longest is where the longest headers end, telemetry and CETH left out.
	longest = bthEnd + atomicLen + stampLen
)

// Every frame but one with a CETH has room for the longest telemetry.
const _ = uint(HeaderRoom - longest - telemetryRoom)

// Carrier is the form that telemetry has in a packet.
type Carrier uint8

// Carriers.
const (
	CarrierNone Carrier = iota
	CarrierINT          // in-band network telemetry, INT v2.1, type MD
	CarrierIOAM         // in-situ OAM, RFC 9197, incremental trace option
)

// Hop is what one switch writes.
type Hop struct {
	Node    uint32    // number of the switch, 24 bits
	In, Out uint16    // ports
	Depth   uint32    // bytes in the egress queue behind the packet; INT has 24 bits
	Entered unit.Time // when the packet was in at the switch, in whole nanoseconds
}

// Push says what became of a hop.
type Push uint8

// Outcomes of PushHop.
const (
	PushNone     Push = iota // the packet carries no telemetry
	Pushed                   // written
	PushExceeded             // not written: as many hops as were allowed have been
	PushTooLong              // not written: the frame would exceed the MTU
)

// Carrier tells which telemetry the packet carries.
func (f *Frame) Carrier() Carrier {
	switch {
	case f.shift == 0:
		return CarrierNone
	case binary.BigEndian.Uint16(f.head[udpDst:]) == PortINT:
		return CarrierINT
	}
	return CarrierIOAM
}

// Carry makes a packet of ClassRoCE without telemetry and without CETH carry it,
// for at most so many hops, 1 to MaxHops.
func (f *Frame) Carry(c Carrier, hops uint8) {
	switch c {
	case CarrierINT:
		f.carryINT(min(hops, MaxHops))
	case CarrierIOAM:
		f.carryIOAM(min(hops, MaxHops))
	case CarrierNone:
	}
}

// PushHop writes a hop in front of the earlier ones, if the packet carries
// telemetry, a hop is still allowed, and the frame stays within mtu. Otherwise it
// sets the flag that says so, and adds nothing.
func (f *Frame) PushHop(h *Hop, mtu unit.Bytes) Push {
	switch f.Carrier() {
	case CarrierINT:
		return f.pushINT(h, mtu)
	case CarrierIOAM:
		return f.pushIOAM(h, mtu)
	default:
		return PushNone
	}
}

// Hops tells how many hops have been written.
func (f *Frame) Hops() int {
	if f.shift == 0 {
		return 0
	}
	return (int(f.shift) - f.stack()) / hopLen
}

// Hop gives a hop, 0 the latest; i is below Hops.
func (f *Frame) Hop(i int) Hop {
	b := f.head[udpEnd+f.stack()+i*hopLen:]
	if f.Carrier() == CarrierINT {
		return hopINT(b)
	}
	return hopIOAM(b)
}

// stack is where the hops begin, counted from the shim.
func (f *Frame) stack() int {
	if f.Carrier() == CarrierINT {
		return shimLen + intLen
	}
	return shimLen + ioamLen
}

// StripTelemetry takes telemetry out, if there is any: the packet is as it was
// before Carry, but for what else was rewritten.
func (f *Frame) StripTelemetry() {
	if n := int(f.shift); n > 0 {
		copy(f.head[udpEnd:], f.head[udpEnd+n:f.n])
		clear(f.head[int(f.n)-n : f.n])
		f.resize(-n)
		binary.BigEndian.PutUint16(f.head[udpDst:], PortRoCE)
	}
}

// announce opens room for shim and header behind UDP, and writes the shim.
func (f *Frame) announce(port uint16, kind byte, length int) {
	f.open(udpEnd, shimLen+length)
	binary.BigEndian.PutUint16(f.head[udpDst:], port)
	f.head[udpEnd], f.head[udpEnd+1] = kind, byte(length/4)
	binary.BigEndian.PutUint16(f.head[udpEnd+2:], PortRoCE)
}

// openHop opens room for a hop, and counts it in the shim.
func (f *Frame) openHop() []byte {
	at := udpEnd + f.stack()
	f.open(at, hopLen)
	f.head[udpEnd+1] += hopLen / 4
	return f.head[at : at+hopLen]
}

// open makes room for n bytes at an offset behind UDP.
func (f *Frame) open(at, n int) {
	copy(f.head[at+n:int(f.n)+n], f.head[at:f.n])
	clear(f.head[at : at+n])
	f.resize(n)
}

// resize counts n bytes more, or fewer, of telemetry in all lengths, and keeps
// the IP checksum right (RFC 1624 equation 3).
func (f *Frame) resize(n int) {
	f.n = uint8(int(f.n) + n)
	f.shift = uint8(int(f.shift) + n)
	was := binary.BigEndian.Uint16(f.head[ipLength:])
	is := was + uint16(n)
	binary.BigEndian.PutUint16(f.head[ipLength:], is)
	sum := uint32(^binary.BigEndian.Uint16(f.head[ipChecksum:]))
	f.putChecksum(sum + uint32(^was) + uint32(is))
	udp := binary.BigEndian.Uint16(f.head[udpLength:])
	binary.BigEndian.PutUint16(f.head[udpLength:], udp+uint16(n))
}

// telemetryLen gives the length in bytes of the telemetry in header bytes of any
// kind, 0 if there is none that is well formed.
func (f *Frame) telemetryLen() uint8 {
	h := &f.head
	if f.n < udpEnd+shimLen || binary.BigEndian.Uint32(h[ethType:])>>8 != typeIPv4<<8|versionIHL ||
		h[ipProtocol] != protocolUDP || f.SrcPort() == PortRoCE || binary.BigEndian.Uint16(h[udpEnd+2:]) != PortRoCE {
		return 0
	}
	fixed, fits := 0, false
	length := shimLen + 4*int(h[udpEnd+1])
	switch binary.BigEndian.Uint16(h[udpDst:]) {
	case PortINT:
		fixed, fits = shimLen+intLen, intWellFormed(h[udpEnd:])
	case PortIOAM:
		fixed, fits = shimLen+ioamLen, ioamWellFormed(h[udpEnd:])
	}
	if !fits || length < fixed || length > telemetryRoom || (length-fixed)%hopLen != 0 || length+bthEnd > int(f.n) {
		return 0
	}
	return uint8(length)
}
