package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// In-band telemetry: records that switches write into a data packet in flight. It
// lies between UDP and BTH, as INT v2.1 defines it for RoCEv2 ("INT over
// TCP/UDP"). The UDP destination port announces it, and a shim of 4 bytes keeps
// the original port. No port has been assigned; these are from the dynamic range.
//
//	shim      kind 8, length 8 in words without the shim, PortRoCE 16
//	header    of INT or IOAM: contents of a hop, and number of hops still allowed
//	hops      the latest first, hopLen or loadLen bytes each
//
// The ICRC is that of the packet without telemetry: the NIC that removes the
// telemetry restores the packet that its peer sent.
const (
	PortINT  = 65001
	PortIOAM = 65002
	PortLoad = 65003 // INT with this project's instructions: the load of ports
	PortEcho = 65004 // an ACK that echoes hops of PortLoad

	shimLen = 4
	hopLen  = 20 // node, ports, queue and instant, with either carrier

	// MaxHops is the maximum number of hops in a frame.
	MaxHops = 5
	// telemetryRoom is the maximum length of telemetry in bytes: shim, INT
	// header, hops.
	telemetryRoom = shimLen + intLen + MaxHops*hopLen
	// longest is the end of the longest headers, without telemetry and CETH.
	longest = bthEnd + atomicLen + stampLen
)

// Every frame without a CETH has room for the longest telemetry.
const _ = uint(HeaderRoom - longest - telemetryRoom)

// Carrier is the format of the telemetry in a packet.
type Carrier uint8

// Carriers.
const (
	CarrierNone Carrier = iota
	CarrierINT          // in-band network telemetry, INT v2.1, type MD
	CarrierIOAM         // in-situ OAM, RFC 9197, incremental trace option
	CarrierLoad         // INT v2.1, type MD, with the load of ports: see Load
	CarrierEcho         // the hops of a data packet, in its ACK: switches add none
)

// Hop is the record that one switch writes.
type Hop struct {
	Node    uint32    // number of the switch, 24 bits
	In, Out uint16    // ports
	Depth   uint32    // bytes in the egress queue behind the packet; 24 bits in INT
	Entered unit.Time // arrival of the packet's last bit at the switch, in whole nanoseconds
}

// Push is the result of PushHop.
type Push uint8

// Outcomes of PushHop.
const (
	PushNone     Push = iota // the packet carries no telemetry
	Pushed                   // written
	PushExceeded             // not written: the maximum number of hops is reached
	PushTooLong              // not written: the frame would exceed the MTU
)

// Carrier returns the format of the packet's telemetry.
func (f *Frame) Carrier() Carrier {
	if f.shift == 0 {
		return CarrierNone
	}
	return f.carrier()
}

// carrier returns the format of telemetry that is present. It is apart from Carrier, so that the
// latter is inlined where every frame passes.
func (f *Frame) carrier() Carrier {
	switch binary.BigEndian.Uint16(f.head[udpDst:]) {
	case PortINT:
		return CarrierINT
	case PortLoad:
		return CarrierLoad
	case PortEcho:
		return CarrierEcho
	}
	return CarrierIOAM
}

// Carry adds empty telemetry for at most the given number of hops, 1 to
// MaxHops. The packet must be of ClassRoCE and have neither telemetry nor a
// CETH.
func (f *Frame) Carry(c Carrier, hops uint8) {
	switch c {
	case CarrierINT:
		f.carryINT(min(hops, MaxHops))
	case CarrierIOAM:
		f.carryIOAM(min(hops, MaxHops))
	case CarrierLoad:
		f.carryLoad(PortLoad, min(hops, MaxHops))
	case CarrierNone, CarrierEcho:
	}
}

// PushHop writes a hop before the earlier ones if the packet carries telemetry,
// another hop is allowed, and the frame stays within mtu. Otherwise it sets the
// corresponding flag and adds nothing.
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

// Hops returns the number of hops in the telemetry.
func (f *Frame) Hops() int {
	if f.shift == 0 {
		return 0
	}
	return (int(f.shift) - f.stack()) / f.hopLen()
}

// hopLen returns the length in bytes of a hop of the frame's carrier.
func (f *Frame) hopLen() int {
	if c := f.Carrier(); c == CarrierLoad || c == CarrierEcho {
		return loadLen
	}
	return hopLen
}

// Hop returns hop i of INT or IOAM, where 0 is the latest; i must be below Hops.
func (f *Frame) Hop(i int) Hop {
	b := f.head[udpEnd+f.stack()+i*hopLen:]
	if f.Carrier() == CarrierINT {
		return hopINT(b)
	}
	return hopIOAM(b)
}

// stack returns the offset of the hops from the shim.
func (f *Frame) stack() int {
	if f.Carrier() == CarrierIOAM {
		return shimLen + ioamLen
	}
	return shimLen + intLen
}

// StripTelemetry removes the telemetry, if any. It restores the packet as it
// was before Carry, except for other fields rewritten since.
func (f *Frame) StripTelemetry() {
	if n := int(f.shift); n > 0 {
		copy(f.head[udpEnd:], f.head[udpEnd+n:f.n])
		clear(f.head[int(f.n)-n : f.n])
		f.resize(-n)
		binary.BigEndian.PutUint16(f.head[udpDst:], PortRoCE)
	}
}

// announce inserts shim and header after UDP, and writes the shim.
func (f *Frame) announce(port uint16, kind byte, length int) {
	f.open(udpEnd, shimLen+length)
	binary.BigEndian.PutUint16(f.head[udpDst:], port)
	f.head[udpEnd], f.head[udpEnd+1] = kind, byte(length/4)
	binary.BigEndian.PutUint16(f.head[udpEnd+2:], PortRoCE)
}

// openHop inserts a zero hop, counts it in the shim and returns its bytes.
func (f *Frame) openHop() []byte {
	at, n := udpEnd+f.stack(), f.hopLen()
	f.open(at, n)
	f.head[udpEnd+1] += uint8(n / 4)
	return f.head[at : at+n]
}

// open inserts n zero bytes at an offset after UDP.
func (f *Frame) open(at, n int) {
	copy(f.head[at+n:int(f.n)+n], f.head[at:f.n])
	clear(f.head[at : at+n])
	f.resize(n)
}

// resize adds n, which may be negative, to all lengths that include telemetry,
// and updates the IP checksum (RFC 1624 equation 3).
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

// telemetryLen returns the length in bytes of the telemetry in arbitrary header
// bytes, or 0 if they contain no well-formed telemetry.
func (f *Frame) telemetryLen() uint8 {
	h := &f.head
	if f.n < udpEnd+shimLen || binary.BigEndian.Uint32(h[ethType:])>>8 != typeIPv4<<8|versionIHL ||
		h[ipProtocol] != protocolUDP || f.SrcPort() == PortRoCE || binary.BigEndian.Uint16(h[udpEnd+2:]) != PortRoCE {
		return 0
	}
	fixed, hop, fits := shimLen+intLen, hopLen, false
	length := shimLen + 4*int(h[udpEnd+1])
	switch binary.BigEndian.Uint16(h[udpDst:]) {
	case PortINT:
		fits = intWellFormed(h[udpEnd:])
	case PortIOAM:
		fixed, fits = shimLen+ioamLen, ioamWellFormed(h[udpEnd:])
	case PortLoad, PortEcho:
		hop, fits = loadLen, loadWellFormed(h[udpEnd:])
	}
	if !fits || length < fixed || length > telemetryRoom || (length-fixed)%hop != 0 || length+bthEnd > int(f.n) {
		return 0
	}
	return uint8(length)
}
