package frame

import "encoding/binary"

// Base transport header, IBTA volume 1 chapter 9.
const (
	bthOpcode = udpEnd
	bthFlags  = udpEnd + 1 // solicited 0x80, migration 0x40, pad 0x30, version 0x0f
	bthPKey   = udpEnd + 2
	bthECN    = udpEnd + 4 // FECN 0x80, BECN 0x40, six reserved bits; not in the ICRC
	bthDestQP = udpEnd + 5
	bthAck    = udpEnd + 8 // acknowledge request 0x80, seven reserved bits
	bthPSN    = udpEnd + 9
	bthEnd    = udpEnd + 12

	becn = 0x40 // in bthECN
)

// DefaultPKey is the partition key of the default partition, full member.
const DefaultPKey = 0xffff

// mask24 covers the fields of 24 bits: queue pair, PSN, MSN.
const mask24 = 1<<24 - 1

// BTH is the base transport header. Build derives the transport header version
// from the packet: 1 with a timestamp header, else 0.
type BTH struct {
	Opcode    Opcode
	Solicited bool
	MigReq    bool
	Pad       uint8 // pad bytes at the end of the payload, 0 to 3
	PKey      uint16
	FECN      bool
	BECN      bool   // always set in a CNP
	Resv6     uint8  // six reserved bits next to FECN and BECN, 0 to 63
	DestQP    uint32 // 24 bits
	AckReq    bool
	Resv7     uint8  // seven reserved bits next to AckReq, 0 to 127
	PSN       uint32 // 24 bits
}

// PadCount returns the number of pad bytes after a payload of n bytes, which
// extend it to a multiple of four (IBTA volume 1 chapter 9).
func PadCount(n uint32) uint8 { return uint8(-n & 3) }

// Opcode returns the BTH opcode.
func (f *Frame) Opcode() Opcode { return Opcode(f.head[f.at(bthOpcode)]) }

// DestQP returns the destination queue pair, 24 bits.
func (f *Frame) DestQP() uint32 { return uint24(f.head[f.at(bthDestQP):]) }

// PSN returns the packet sequence number, 24 bits.
func (f *Frame) PSN() uint32 { return uint24(f.head[f.at(bthPSN):]) }

// Pad returns the number of pad bytes at the end of the payload, 0 to 3.
func (f *Frame) Pad() uint8 { return f.head[bthFlags] >> 4 & 3 }

// AckReq reports whether the sender requests an acknowledgement.
func (f *Frame) AckReq() bool { return f.head[f.at(bthAck)]&0x80 != 0 }

// BECN reports whether the packet carries a backward congestion notification,
// as CNPs do.
func (f *Frame) BECN() bool { return f.head[f.at(bthECN)]&becn != 0 }

// Resv6 returns the six reserved bits next to FECN and BECN.
func (f *Frame) Resv6() uint8 { return f.head[f.at(bthECN)] & 0x3f }

// Resv7 returns the seven reserved bits next to AckReq.
func (f *Frame) Resv7() uint8 { return f.head[f.at(bthAck)] & 0x7f }

// SetBECN sets BECN and rewrites the six reserved bits. The ICRC does not
// cover them, so that a switch may rewrite them in flight (IBTA A17.3.3).
func (f *Frame) SetBECN(resv6 uint8) {
	b := &f.head[f.at(bthECN)]
	*b = *b&0x80 | becn | resv6&0x3f
}

func uint24(b []byte) uint32 {
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}

func putUint24(b []byte, v uint32) {
	b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v)
}

// bit returns mask if on, else 0.
func bit(on bool, mask byte) byte {
	if on {
		return mask
	}
	return 0
}

func (b *BTH) build(f *Frame) {
	h := &f.head
	h[bthOpcode] = byte(b.Opcode)
	h[bthFlags] = bit(b.Solicited, 0x80) | bit(b.MigReq, 0x40) | b.Pad&3<<4
	binary.BigEndian.PutUint16(h[bthPKey:], b.PKey)
	h[bthECN] = bit(b.FECN, 0x80) | bit(b.BECN || b.Opcode == OpcodeCNP, becn) | b.Resv6&0x3f
	putUint24(h[bthDestQP:], b.DestQP)
	h[bthAck] = bit(b.AckReq, 0x80) | b.Resv7&0x7f
	putUint24(h[bthPSN:], b.PSN)
}

func (b *BTH) parse(f *Frame) error {
	h := &f.head
	if h[bthFlags]&0x0f > stampedVersion {
		return errVersion
	}
	*b = BTH{
		Opcode:    f.Opcode(),
		Solicited: h[bthFlags]&0x80 != 0,
		MigReq:    h[bthFlags]&0x40 != 0,
		Pad:       h[bthFlags] >> 4 & 3,
		PKey:      binary.BigEndian.Uint16(h[bthPKey:]),
		FECN:      h[bthECN]&0x80 != 0,
		BECN:      f.BECN(),
		Resv6:     f.Resv6(),
		DestQP:    f.DestQP(),
		AckReq:    f.AckReq(),
		Resv7:     f.Resv7(),
		PSN:       f.PSN(),
	}
	if uint32(b.Pad) > f.Payload && !f.TrimmedWrite() {
		return errPad
	}
	return nil
}

// FromTransport returns a frame for the accessors of the BTH and its extension headers, from the bytes
// that follow a UDP header. length is their number on the wire, ICRC included: b may end after
// the extension headers. The headers before the BTH are empty, so that the class is malformed. It
// returns false if the opcode is unknown or the headers are incomplete.
func FromTransport(b []byte, length int) (f Frame, ok bool) {
	f.n = udpEnd + uint8(copy(f.head[udpEnd:], b))
	end := f.extensionsEnd()
	payload := length - (end - udpEnd) - ICRCLen
	if int(f.n) < end || payload < int(f.Pad()) {
		return Frame{}, false
	}
	clear(f.head[end:])
	f.n, f.Payload = uint8(end), uint32(payload)
	return f, true
}
