package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// In-situ OAM, RFC 9197: the incremental trace option (§4.4). The shim before it
// has the layout of INT's; no standard defines IOAM after UDP over IPv4.
//
//	word 0   namespace 16, node length 5 in words, flags 4, remaining length 7 in words
//	word 1   trace type 24, 0 8
const (
	ioamLen  = 8
	ioamKind = 1 // option type incremental trace

	ioamOverflow = 0x04 // the first of the flags, in byte 2
	// ioamTrace requests hop limit and node id (bit 0), interfaces (1), seconds
	// (2) and fraction (3) of the timestamp, and queue depth (6).
	ioamTrace = 1<<23 | 1<<22 | 1<<21 | 1<<20 | 1<<17
)

// ioamWellFormed reports whether b begins with an IOAM trace of this package's
// type. b must be long enough for shim and header.
func ioamWellFormed(b []byte) bool {
	return b[0] == ioamKind && b[shimLen+2]>>3 == hopLen/4 && uint24(b[shimLen+4:]) == ioamTrace
}

// carryIOAM adds an empty trace in the default namespace 0, as an encapsulating
// node does.
func (f *Frame) carryIOAM(hops uint8) {
	f.announce(PortIOAM, ioamKind, ioamLen)
	h := f.head[udpEnd+shimLen:]
	h[2], h[3] = hopLen/4<<3, hops*hopLen/4
	putUint24(h[4:], ioamTrace)
}

// pushIOAM adds a hop, as a transit node does. The overflow flag reports a lack
// of room, in the remaining length or in the MTU.
func (f *Frame) pushIOAM(hop *Hop, mtu unit.Bytes) Push {
	h := f.head[udpEnd+shimLen:]
	remaining := h[3] & 0x7f
	switch {
	case remaining < hopLen/4 || f.Hops() == MaxHops:
		h[2] |= ioamOverflow
		return PushExceeded
	case f.Len()+hopLen > mtu:
		h[2] |= ioamOverflow
		return PushTooLong
	}
	h[3] -= hopLen / 4
	b := f.openHop()
	b[0] = f.head[ipTTL]
	putUint24(b[1:], hop.Node)
	binary.BigEndian.PutUint16(b[4:], hop.In)
	binary.BigEndian.PutUint16(b[6:], hop.Out)
	binary.BigEndian.PutUint32(b[8:], uint32(hop.Entered/unit.Second))
	binary.BigEndian.PutUint32(b[12:], uint32(hop.Entered%unit.Second/unit.Nanosecond))
	binary.BigEndian.PutUint32(b[16:], hop.Depth)
	return Pushed
}

func hopIOAM(b []byte) Hop {
	seconds, fraction := binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	return Hop{
		Node: uint24(b[1:]), In: binary.BigEndian.Uint16(b[4:]), Out: binary.BigEndian.Uint16(b[6:]),
		Depth:   binary.BigEndian.Uint32(b[16:]),
		Entered: unit.Time(seconds)*unit.Second + unit.Time(fraction)*unit.Nanosecond,
	}
}
