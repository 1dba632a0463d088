package frame

import "encoding/binary"

// Congestion extended transport header (CETH): congestion information in an
// acknowledgement. It follows the AETH of an ACK, the reserved bytes of a CNP or
// the RETH of a READ request.
//
//	byte 0      version 4 bits, length 4 bits        the standard part
//	bytes 1...  4*length - 1 bytes                   the vendor part
//
// Source: the Huawei document on RoCE congestion control, ¶141 to ¶145 and
// figures 8 and 9. Details that it leaves open are this project's choice.
const (
	cethWord     = 4
	cethMaxWords = 4 // ¶145: 1 to 4 words
	// CETHMaxLen is the maximum length of a CETH in bytes.
	CETHMaxLen = cethMaxWords * cethWord
)

// Versions of the CETH (¶144). Versions 1 to 15 are the vendor's; this package
// supports the first of them.
const (
	CETHPlain   = 0 // a standard CNP, no other information
	CETHVersion = 1 // the vendor part is a Congestion
)

// CETH is the header with an uninterpreted vendor part, so that a header of an
// unknown version can be skipped and forwarded.
type CETH struct {
	Version uint8 // 0 to 15
	Words   uint8 // length in words of 4 bytes, 1 to 4; 0: no header
	// Vendor holds 4*Words - 1 bytes; the remaining bytes are 0.
	Vendor [CETHMaxLen - 1]byte
}

// len returns the length in bytes. More than 4 words count as 4.
func (c *CETH) len() int { return int(min(c.Words, cethMaxWords)) * cethWord }

// put writes the header to b, which must be long enough.
func (c *CETH) put(b []byte) {
	if n := c.len(); n > 0 {
		b[0] = c.Version<<4 | uint8(n/cethWord)
		copy(b[1:n], c.Vendor[:])
	}
}

// parseCETH parses the header at the start of b. It returns false if b does not
// hold a complete header.
func parseCETH(b []byte) (c CETH, ok bool) {
	if len(b) == 0 {
		return c, false
	}
	words := b[0] & 0x0f
	if words == 0 || words > cethMaxWords || len(b) < int(words)*cethWord {
		return c, false
	}
	c.Version, c.Words = b[0]>>4, words
	copy(c.Vendor[:], b[1:c.len()])
	return c, true
}

// carriesCETH reports whether a packet of the opcode may have a CETH. That is
// an acknowledgement or, for responses, which are not acknowledged, a READ
// request or a CNP.
func (o Opcode) carriesCETH() bool { return o == Acknowledge || o == ReadRequest || o == OpcodeCNP }

// beyond returns the header bytes between the opcode's last extension header
// and the timestamps, if any: a CETH and the headers after it.
func (f *Frame) beyond() []byte {
	at, end := f.at(int(opcodeEnd[f.Opcode()])), int(f.n)
	if f.Timestamped() {
		end -= stampLen
	}
	if end <= at {
		return nil
	}
	return f.head[at:end]
}

// CETH returns the congestion header of a frame of ClassRoCE, or false if it
// has no complete one. Headers after it are ignored, and its version may be
// unknown.
func (f *Frame) CETH() (CETH, bool) {
	if !f.Opcode().carriesCETH() || !f.BECN() {
		return CETH{}, false
	}
	return parseCETH(f.beyond())
}

// Next is the code of the extension header after the CETH, 3 bits (¶164).
type Next uint8

// NextSACK is the only code that the document names.
const NextSACK Next = 0b010

// SACK acknowledges single packets (¶164). The document specifies the code
// only; the layout, 12 bytes, is this project's.
//
//	3 bits   code, 010
//	5 bits   0
//	24 bits  base
//	64 bits  bitmap
type SACK struct {
	Base   uint32 // PSN of the first bit's packet
	Bitmap uint64 // most significant bit first; 1: received
}

const sackLen = 12

// cethLen returns the length of CETH and SACK in bytes.
func (p *Packet) cethLen() uint8 {
	n := uint8(p.CETH.len())
	switch {
	case n == 0 || !p.BTH.Opcode.carriesCETH():
		return 0
	case p.Selective:
		return n + sackLen
	}
	return n
}

func (p *Packet) buildCETH(f *Frame) {
	if p.cethLen() == 0 {
		return
	}
	f.head[bthECN] |= becn
	b := f.head[opcodeEnd[p.BTH.Opcode]:]
	p.CETH.put(b)
	if p.Selective {
		b = b[p.CETH.len():]
		binary.BigEndian.PutUint32(b, uint32(NextSACK)<<29|p.SACK.Base&mask24)
		binary.BigEndian.PutUint64(b[4:], p.SACK.Bitmap)
	}
}

// parseCETH parses the headers after the opcode's headers.
func (p *Packet) parseCETH(f *Frame) error {
	b := f.beyond()
	if len(b) == 0 {
		return nil
	}
	var ok bool
	if p.CETH, ok = f.CETH(); !ok {
		return errLength
	}
	if b = b[p.CETH.len():]; len(b) == 0 {
		return nil
	}
	if len(b) != sackLen || binary.BigEndian.Uint32(b)>>24 != uint32(NextSACK)<<5 {
		return errNext
	}
	p.Selective = true
	p.SACK = SACK{Base: uint24(b[1:]), Bitmap: binary.BigEndian.Uint64(b[4:])}
	return nil
}
