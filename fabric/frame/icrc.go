package frame

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// icrcSeed is the CRC-32 of eight bytes of ones. They replace the local route
// header, which RoCEv2 does not have (IBTA A17.3.3).
const icrcSeed = 0x2144df1c

// icrcMasked holds the offsets in the IP packet that switches may rewrite and
// that count as ones: type of service, time to live, both checksums, and the
// byte of FECN, BECN and Resv6.
var icrcMasked = [...]int{
	ipTOS - ethEnd, ipTTL - ethEnd, ipChecksum - ethEnd, ipChecksum + 1 - ethEnd,
	udpChecksum - ethEnd, udpChecksum + 1 - ethEnd, bthECN - ethEnd,
}

// ICRC returns the invariant CRC of a RoCEv2 packet, from the IPv4 header
// (without options) to the end of the padded payload. On the wire it is
// little-endian.
func ICRC(ipPacket []byte) uint32 {
	var head [bthEnd - ethEnd]byte
	n := copy(head[:], ipPacket)
	for _, i := range icrcMasked {
		head[i] = 0xff
	}
	crc := crc32.Update(icrcSeed, crc32.IEEETable, head[:n])
	return crc32.Update(crc, crc32.IEEETable, ipPacket[n:])
}

// icrc returns the invariant CRC of a frame of ClassRoCE, computed without its
// telemetry. wire holds the frame's bytes on the wire.
func (f *Frame) icrc(wire []byte) uint32 {
	if f.shift == 0 {
		return ICRC(wire[ethEnd:])
	}
	plain := *f
	plain.StripTelemetry()
	return ICRC(append(bytes.Clone(plain.Header()[ethEnd:]), wire[f.n:]...))
}

// Materialise appends the frame to dst in the form of a capture, without FCS:
// the header, a payload of zeros, the ICRC of a RoCE frame, and padding to 60
// bytes. A trimmed frame has four more zeros of its payload instead of the ICRC.
func (f *Frame) Materialise(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, f.Header()...)
	dst = append(dst, make([]byte, f.Payload)...)
	switch {
	case f.Class() != ClassRoCE:
	case f.TrimmedWrite():
		dst = append(dst, make([]byte, ICRCLen)...)
	default:
		dst = binary.LittleEndian.AppendUint32(dst, f.icrc(dst[start:]))
	}
	if short := start + minCapture - len(dst); short > 0 {
		dst = append(dst, make([]byte, short)...)
	}
	return dst
}
