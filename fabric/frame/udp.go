package frame

import "encoding/binary"

// UDP header, RFC 768. The destination port says RoCEv2 (IBTA A17.3.2); the
// source port is the flow's entropy; the checksum is 0 (A17.3.2.4).
const (
	udpSrc      = ipEnd
	udpDst      = ipEnd + 2
	udpLength   = ipEnd + 4
	udpChecksum = ipEnd + 6
	udpEnd      = ipEnd + 8

	// PortRoCE is the UDP destination port of RoCEv2.
	PortRoCE = 4791
)

// SrcPort gives the UDP source port.
func (f *Frame) SrcPort() uint16 { return binary.BigEndian.Uint16(f.head[udpSrc:]) }

// buildUDP writes the UDP header; length counts it and what follows, in bytes.
func (p *Packet) buildUDP(f *Frame, length uint32) {
	binary.BigEndian.PutUint16(f.head[udpSrc:], p.SrcPort)
	binary.BigEndian.PutUint16(f.head[udpDst:], PortRoCE)
	binary.BigEndian.PutUint16(f.head[udpLength:], uint16(length))
	binary.BigEndian.PutUint16(f.head[udpChecksum:], 0)
}

// parseUDP reads the UDP header of a frame of ClassRoCE.
func (p *Packet) parseUDP(f *Frame) error {
	if binary.BigEndian.Uint16(f.head[udpChecksum:]) != 0 {
		return errUDPChecksum
	}
	p.SrcPort = f.SrcPort()
	return nil
}
