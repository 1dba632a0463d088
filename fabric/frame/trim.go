package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Packet trimming: a switch without room for a data packet forwards its headers, with a DSCP
// of their own, instead of dropping it (UEC 1.0, §4.1; SAI: packet trimming). All headers
// remain. They are longer than the 24 bytes beyond IP that UEC requires at least
// (MIN_TRIM_SIZE), and tell the length of the payload that was sent. IP and UDP lengths, and
// the header checksum, are those of the trimmed packet. Its last bytes, where RoCEv2 has the
// ICRC, are bytes of the payload.

// Trimmable reports whether a switch may trim the packet: a WRITE that is a packet of its own,
// or a UET request, with a payload.
func (f *Frame) Trimmable() bool { return f.trimTo(0) < int64(f.Payload) }

// TrimmedLen returns the frame's Len after Trim to that size.
func (f *Frame) TrimmedLen(size unit.Bytes) unit.Bytes {
	return f.Len() - unit.Bytes(int64(f.Payload)-f.trimTo(size))
}

// Trim cuts the payload so that Len is at most size if the headers permit that. It cuts at
// least one byte of the message. It sets the DSCP and leaves the ECN field. It returns the
// number of bytes cut, 0 if the packet is not Trimmable.
func (f *Frame) Trim(size unit.Bytes, dscp uint8) unit.Bytes {
	keep := f.trimTo(size)
	cut := int64(f.Payload) - keep
	if cut <= 0 {
		return 0
	}
	h := &f.head
	f.Payload = uint32(keep)
	tos := binary.BigEndian.Uint16(h[ipVersion:])
	length := binary.BigEndian.Uint16(h[ipLength:])
	h[ipTOS] = dscp<<2 | h[ipTOS]&3
	binary.BigEndian.PutUint16(h[ipLength:], length-uint16(cut))
	sum := uint32(^binary.BigEndian.Uint16(h[ipChecksum:])) // RFC 1624 equation 3
	sum += uint32(^tos) + uint32(binary.BigEndian.Uint16(h[ipVersion:]))
	f.putChecksum(sum + uint32(^length) + uint32(length-uint16(cut)))
	binary.BigEndian.PutUint16(h[udpLength:], binary.BigEndian.Uint16(h[udpLength:])-uint16(cut))
	return unit.Bytes(cut)
}

// trimTo returns the payload of the packet trimmed to size: all of it if the packet is not
// trimmable.
func (f *Frame) trimTo(size unit.Bytes) int64 {
	whole, class := int64(f.Payload), f.Class()
	sent := int64(f.sent(class))
	if whole < sent || sent == 0 {
		return whole // trimmed before, or not trimmable
	}
	headers := f.LenOf(class) - unit.Bytes(whole)
	return min(max(int64(size-headers), 0), sent-1)
}

// Trimmed reports whether the payload of a data packet was trimmed.
func (f *Frame) Trimmed() bool { return f.Payload < f.sent(f.Class()) }

// TrimmedWrite is Trimmed for a frame of ClassRoCE.
func (f *Frame) TrimmedWrite() bool { return f.Payload < f.sentWrite() }

// TrimmedRequest is Trimmed for a frame of ClassUET.
func (f *Frame) TrimmedRequest() bool { return f.Payload < f.sentRequest() }

// sent returns how many bytes of its message the packet carried when it was sent, as its
// headers tell them. It returns 0 for a packet that may not be trimmed.
func (f *Frame) sent(c Class) uint32 {
	switch c {
	case ClassRoCE:
		return f.sentWrite()
	case ClassUET:
		return f.sentRequest()
	default:
		return 0
	}
}

// sentWrite is sent for RoCEv2. The RETH of a WRITE of one packet has the length of its payload
// without pad.
func (f *Frame) sentWrite() uint32 {
	if f.Opcode()|1 != WriteOnlyImm { // WriteOnly differs in this bit
		return 0
	}
	return f.DMALength()
}

// sentRequest is sent for UET. It returns 1 for the first of several packets, whose headers do
// not tell the length of its payload: Trim leaves it none.
func (f *Frame) sentRequest() uint32 {
	if !f.UETType().IsRequest() {
		return 0
	}
	switch f.head[sesFlags] & (sesFirst | sesLast) {
	case sesFirst:
		return 1
	case sesFirst | sesLast:
		return binary.BigEndian.Uint32(f.head[sesRequest:])
	default:
		return binary.BigEndian.Uint32(f.head[sesLength-2:]) & MaxUETPayload
	}
}
