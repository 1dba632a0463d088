package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Load is the record that one switch writes for HPCC (SIGCOMM'19, §4.1). The paper's
// simulator packs it into 8 bytes, with 5 link rates only, and coarse counters. It has 12
// bytes here, in INT v2.1, type MD, as an instruction of a domain of its own:
//
//	word 0   instant in ns, 32 bits, wraps around
//	word 1   bytes sent by the port without this packet, 32 bits, wraps around
//	word 2   bytes queued in units of 256, rounded down, 16; rate in units of 100 Mbit/s, 16
type Load struct {
	At    unit.Time
	Sent  unit.Bytes
	Depth unit.Bytes
	Rate  unit.Rate
}

const (
	loadLen = 12
	// loadDomain is the domain, and loadInstructions the only instruction in it.
	loadDomain       = 1
	loadInstructions = 1 << 15

	loadCell = 256
	loadRate = 100 * unit.MegabitPerSec
)

// LoadLen returns the bytes of telemetry in a packet with the loads of some switches.
func LoadLen(switches int) unit.Bytes {
	return shimLen + intLen + unit.Bytes(min(switches, MaxHops))*loadLen
}

// loadWellFormed is as intWellFormed, for Load.
func loadWellFormed(b []byte) bool {
	return b[0] == intKind && b[shimLen]&0xf0 == intVersion && b[shimLen+2]&0x1f == loadLen/4 &&
		binary.BigEndian.Uint16(b[shimLen+4:]) == 0 &&
		binary.BigEndian.Uint16(b[shimLen+6:]) == loadDomain && binary.BigEndian.Uint16(b[shimLen+8:]) == loadInstructions
}

// carryLoad adds an empty header.
func (f *Frame) carryLoad(port uint16, hops uint8) {
	h := f.carryMD(port, loadLen, hops)
	binary.BigEndian.PutUint16(h[6:], loadDomain)
	binary.BigEndian.PutUint16(h[8:], loadInstructions)
}

// PushLoad writes a hop before the earlier ones, as PushHop does. The frame must have
// CarrierLoad.
func (f *Frame) PushLoad(l Load, mtu unit.Bytes) Push {
	p := f.admitMD(loadLen, mtu)
	if p == Pushed {
		l.put(f.openHop())
	}
	return p
}

func (l *Load) put(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(l.At/unit.Nanosecond))
	binary.BigEndian.PutUint32(b[4:], uint32(l.Sent))
	binary.BigEndian.PutUint16(b[8:], uint16(min(l.Depth/loadCell, 1<<16-1)))
	binary.BigEndian.PutUint16(b[10:], uint16(min((l.Rate+loadRate/2)/loadRate, 1<<16-1)))
}

// Load returns hop i of a frame with CarrierLoad or CarrierEcho, where 0 is the latest; i must
// be below Hops. Instant and bytes are those of the counters on the wire.
func (f *Frame) Load(i int) Load {
	b := f.head[udpEnd+f.stack()+i*loadLen:]
	return Load{
		At:    unit.Time(binary.BigEndian.Uint32(b)) * unit.Nanosecond,
		Sent:  unit.Bytes(binary.BigEndian.Uint32(b[4:])),
		Depth: unit.Bytes(binary.BigEndian.Uint16(b[8:])) * loadCell,
		Rate:  unit.Rate(binary.BigEndian.Uint16(b[10:])) * loadRate,
	}
}

// Echo adds hops, at most MaxHops, the latest first, to an ACK without telemetry. Switches on
// its way add none.
func (f *Frame) Echo(hops []Load) {
	f.carryLoad(PortEcho, 0)
	for i := min(len(hops), MaxHops) - 1; i >= 0; i-- {
		hops[i].put(f.openHop())
	}
}
