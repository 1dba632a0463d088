package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// In-band network telemetry, INT v2.1 of the P4 applications working group,
// header type MD: shim for UDP, metadata header of 12 bytes, stack.
//
//	word 0   version 4, discard 1, hop count exceeded 1, MTU exceeded 1, 0 12,
//	         words per hop 5, remaining hops 8
//	word 1   instructions 16, domain 16
//	word 2   domain's instructions 16, flags 16
const (
	intLen = 12
	// intKind is the upper half of the shim's first word: type MD (1), and next
	// protocol type 1, which says that the shim holds the UDP port.
	intKind = 1<<4 | 1<<2

	intVersion  = 2 << 4
	intExceeded = 0x04 // E, in byte 0
	intTooLong  = 0x02 // M, in byte 0
	// intInstructions requests node id (bit 0), ports (1), queue id and
	// occupancy (3), and ingress timestamp (4); bit 0 is the most significant.
	intInstructions = 1<<15 | 1<<14 | 1<<12 | 1<<11

	maxDepthINT = 1<<24 - 1
)

// intWellFormed reports whether b begins with an INT header that has this
// package's instructions. b must be long enough for shim and header.
func intWellFormed(b []byte) bool {
	return b[0] == intKind && b[shimLen]&0xf0 == intVersion && b[shimLen+2]&0x1f == hopLen/4 &&
		binary.BigEndian.Uint16(b[shimLen+4:]) == intInstructions
}

// carryINT adds an empty INT header, as an INT source does.
func (f *Frame) carryINT(hops uint8) {
	binary.BigEndian.PutUint16(f.carryMD(PortINT, hopLen, hops)[4:], intInstructions)
}

// carryMD adds an empty header of type MD without instructions, for hops of some bytes, and
// returns it.
func (f *Frame) carryMD(port uint16, hop, hops uint8) []byte {
	f.announce(port, intKind, intLen)
	h := f.head[udpEnd+shimLen:]
	h[0], h[2], h[3] = intVersion, hop/4, hops
	return h
}

// admitMD decides whether a transit hop adds its bytes to the header: it decrements the
// remaining hops, or sets the flag that says why not.
func (f *Frame) admitMD(hop int, mtu unit.Bytes) Push {
	h := f.head[udpEnd+shimLen:]
	switch {
	case h[3] == 0 || f.Hops() == MaxHops:
		h[0] |= intExceeded
		return PushExceeded
	case f.Len()+unit.Bytes(hop) > mtu:
		h[0] |= intTooLong
		return PushTooLong
	}
	h[3]--
	return Pushed
}

// pushINT adds a hop, as an INT transit hop does.
func (f *Frame) pushINT(hop *Hop, mtu unit.Bytes) Push {
	if p := f.admitMD(hopLen, mtu); p != Pushed {
		return p
	}
	b := f.openHop()
	binary.BigEndian.PutUint32(b, hop.Node)
	binary.BigEndian.PutUint16(b[4:], hop.In)
	binary.BigEndian.PutUint16(b[6:], hop.Out)
	binary.BigEndian.PutUint32(b[8:], min(hop.Depth, maxDepthINT)) // queue 0
	binary.BigEndian.PutUint64(b[12:], uint64(hop.Entered/unit.Nanosecond))
	return Pushed
}

func hopINT(b []byte) Hop {
	return Hop{
		Node: binary.BigEndian.Uint32(b), In: binary.BigEndian.Uint16(b[4:]), Out: binary.BigEndian.Uint16(b[6:]),
		Depth:   binary.BigEndian.Uint32(b[8:]) & maxDepthINT,
		Entered: unit.Time(binary.BigEndian.Uint64(b[12:])) * unit.Nanosecond,
	}
}
