package frame

import "encoding/binary"

// UDP header, RFC 768. The destination port identifies RoCEv2 (IBTA A17.3.2); the
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

// SrcPort returns the UDP source port.
func (f *Frame) SrcPort() uint16 { return binary.BigEndian.Uint16(f.head[udpSrc:]) }

// DstPort returns the UDP destination port.
func (f *Frame) DstPort() uint16 { return binary.BigEndian.Uint16(f.head[udpDst:]) }

// Mirrored reports whether PortRoCE is the source port instead of the
// destination port. Such a packet answers one whose ports it has swapped, so
// that a switch can match the two by their 5-tuples. RoCEv2 itself has no such
// packet.
func (f *Frame) Mirrored() bool { return f.SrcPort() == PortRoCE && f.DstPort() != PortRoCE }

// buildUDP writes the UDP header; length counts it and what follows, in bytes.
func (p *Packet) buildUDP(f *Frame, length uint32) {
	source, destination := p.SrcPort, uint16(PortRoCE)
	if p.Mirrored {
		source, destination = destination, source
	}
	binary.BigEndian.PutUint16(f.head[udpSrc:], source)
	binary.BigEndian.PutUint16(f.head[udpDst:], destination)
	binary.BigEndian.PutUint16(f.head[udpLength:], uint16(length))
	binary.BigEndian.PutUint16(f.head[udpChecksum:], 0)
}

// parseUDP parses the UDP header of a frame of ClassRoCE.
func (p *Packet) parseUDP(f *Frame) error {
	if binary.BigEndian.Uint16(f.head[udpChecksum:]) != 0 {
		return errUDPChecksum
	}
	p.SrcPort = f.SrcPort()
	if p.Mirrored = f.Mirrored(); p.Mirrored {
		p.SrcPort = f.DstPort()
	}
	return nil
}
