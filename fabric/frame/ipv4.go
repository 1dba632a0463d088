package frame

import "encoding/binary"

// IPv4 header without options, RFC 791 §3.1; don't fragment is set (IBTA
// A17.3.1.1.5). Offsets count from the frame's first byte.
const (
	ipVersion  = ethEnd // version 4, header length 5 words
	ipTOS      = ethEnd + 1
	ipLength   = ethEnd + 2
	ipID       = ethEnd + 4
	ipFlags    = ethEnd + 6
	ipTTL      = ethEnd + 8
	ipProtocol = ethEnd + 9
	ipChecksum = ethEnd + 10
	ipSrc      = ethEnd + 12
	ipDst      = ethEnd + 16
	ipEnd      = ethEnd + 20

	versionIHL   = 0x45
	dontFragment = 0x4000
	fragmentMask = 0x3fff // more fragments, fragment offset
	protocolUDP  = 17
)

// DefaultTTL is the usual time to live of a packet that starts at a host.
const DefaultTTL = 64

// ECN is the congestion field of the IP header, RFC 3168 §5.
type ECN uint8

// Code points of ECN.
const (
	NotECT ECN = 0 // the transport does not support ECN
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3 // congestion experienced
)

// DSCP returns the differentiated services code point, 0 to 63.
func (f *Frame) DSCP() uint8 { return f.head[ipTOS] >> 2 }

// ECN returns the ECN field.
func (f *Frame) ECN() ECN { return ECN(f.head[ipTOS] & 3) }

// SetECN rewrites the ECN field and updates the header checksum by RFC 1624
// equation 3: HC' = ~(~HC + ~m + m'). A wrong checksum remains wrong.
func (f *Frame) SetECN(e ECN) {
	was := uint32(f.head[ipTOS])
	is := was&^3 | uint32(e&3)
	f.head[ipTOS] = byte(is)
	sum := uint32(^binary.BigEndian.Uint16(f.head[ipChecksum:]))
	sum += 0xffff - was + is
	f.putChecksum(sum)
}

// SrcIP returns the address of the sending host.
func (f *Frame) SrcIP() IP { return IP(binary.BigEndian.Uint32(f.head[ipSrc:])) }

// DstIP returns the address of the receiving host.
func (f *Frame) DstIP() IP { return IP(binary.BigEndian.Uint32(f.head[ipDst:])) }

// putChecksum folds a sum of 16-bit words and writes its complement (RFC 1071).
func (f *Frame) putChecksum(sum uint32) {
	sum = sum>>16 + sum&0xffff
	sum += sum >> 16
	binary.BigEndian.PutUint16(f.head[ipChecksum:], ^uint16(sum))
}

// ipSum returns the sum of the 16-bit words of the IP header, its checksum
// included, with some of its carries already added (RFC 1071 §2, parallel summation).
func (f *Frame) ipSum() uint32 {
	h := f.head[ipVersion:ipEnd]
	sum := uint64(binary.BigEndian.Uint32(h)) +
		uint64(binary.BigEndian.Uint32(h[4:])) +
		uint64(binary.BigEndian.Uint32(h[8:])) +
		uint64(binary.BigEndian.Uint32(h[12:])) +
		uint64(binary.BigEndian.Uint32(h[16:]))
	return uint32(sum>>16 + sum&0xffff)
}

// buildIP writes the IP header; length is the total length in bytes.
func (p *Packet) buildIP(f *Frame, length uint32) {
	h := &f.head
	h[ipVersion] = versionIHL
	h[ipTOS] = p.DSCP<<2 | byte(p.ECN&3)
	binary.BigEndian.PutUint16(h[ipLength:], uint16(length))
	binary.BigEndian.PutUint16(h[ipID:], p.ID)
	binary.BigEndian.PutUint16(h[ipFlags:], dontFragment)
	h[ipTTL] = p.TTL
	h[ipProtocol] = protocolUDP
	binary.BigEndian.PutUint16(h[ipChecksum:], 0)
	binary.BigEndian.PutUint32(h[ipSrc:], uint32(p.Src))
	binary.BigEndian.PutUint32(h[ipDst:], uint32(p.Dst))
	f.putChecksum(f.ipSum())
}

// parseIP parses the IP header of a frame of ClassRoCE.
func (p *Packet) parseIP(f *Frame) error {
	if binary.BigEndian.Uint16(f.head[ipFlags:]) != dontFragment {
		return errFlags
	}
	if sum := f.ipSum(); sum>>16+sum&0xffff != 0xffff {
		return errChecksum
	}
	p.Src, p.Dst = f.SrcIP(), f.DstIP()
	p.DSCP, p.ECN = f.DSCP(), f.ECN()
	p.TTL = f.head[ipTTL]
	p.ID = binary.BigEndian.Uint16(f.head[ipID:])
	return nil
}
