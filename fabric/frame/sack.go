package frame

import "encoding/binary"

// Next is the code of an extension header that follows others, 3 bits (CETH ¶164).
type Next uint8

// NextSACK is the only code that the document on CETH names.
const NextSACK Next = 0b010

// SACK acknowledges single packets beyond those that the ACK or NAK acknowledges. It follows the
// AETH, or the CETH after it. The document on CETH specifies the code only (¶164); the layout, 12
// bytes, is this project's.
//
//	3 bits   code, 010
//	5 bits   0
//	24 bits  base
//	64 bits  bitmap, not 0
//
// The first byte is that of no CETH, which has a length of at least 1 in its lower four bits.
type SACK struct {
	Base   uint32 // PSN of the first bit's packet
	Bitmap uint64 // most significant bit first; 1: received; 0: there is no SACK
}

const sackLen = 12

// sackCode is the first byte.
const sackCode = byte(NextSACK) << 5

// put writes the header to b, which must be long enough.
func (s *SACK) put(b []byte) {
	binary.BigEndian.PutUint32(b, s.Base)
	b[0] = sackCode
	binary.BigEndian.PutUint64(b[4:], s.Bitmap)
}

// parseSACK parses b. It returns false if b is not exactly one header that has packets.
func parseSACK(b []byte) (s SACK, ok bool) {
	if len(b) != sackLen || b[0] != sackCode {
		return s, false
	}
	s = SACK{Base: uint24(b[1:]), Bitmap: binary.BigEndian.Uint64(b[4:])}
	return s, s.Bitmap != 0
}

// SACK returns the SACK of an ACK or NAK. Its bitmap is 0 if there is none.
func (f *Frame) SACK() SACK {
	if f.n < bthEnd+aethLen+sackLen { // as most
		return SACK{}
	}
	return f.sack()
}

func (f *Frame) sack() SACK {
	b := f.beyond()
	if f.Opcode() != Acknowledge {
		return SACK{}
	}
	if c, ok := f.CETH(); ok {
		b = b[c.len():]
	}
	s, _ := parseSACK(b)
	return s
}

// carriesSACK reports whether the packet has a SACK: it acknowledges, or has a CETH.
func (p *Packet) carriesSACK() bool {
	return p.SACK.Bitmap != 0 && (p.BTH.Opcode == Acknowledge || p.CETH.len() > 0 && p.BTH.Opcode.carriesCETH())
}

// appends reports whether the packet may have a CETH or SACK. Most have none.
func (p *Packet) appends() bool { return p.CETH.Words != 0 || p.SACK.Bitmap != 0 }

// appended returns the length in bytes of CETH and SACK.
func (p *Packet) appended() (n uint8) {
	if p.BTH.Opcode.carriesCETH() {
		n = uint8(p.CETH.len())
	}
	if p.carriesSACK() {
		n += sackLen
	}
	return n
}

// buildAppended writes CETH and SACK.
func (p *Packet) buildAppended(f *Frame) {
	if p.appended() == 0 {
		return
	}
	b := f.head[opcodeEnd[p.BTH.Opcode]:]
	if n := p.CETH.len(); n > 0 {
		f.head[bthECN] |= becn
		p.CETH.put(b)
		b = b[n:]
	}
	if p.carriesSACK() {
		p.SACK.put(b)
	}
}

// parseAppended parses the headers after the opcode's headers.
func (p *Packet) parseAppended(f *Frame) error {
	b := f.beyond()
	if len(b) == 0 {
		return nil
	}
	fault := errNext
	if c, ok := f.CETH(); ok {
		p.CETH = c
		if b = b[c.len():]; len(b) == 0 {
			return nil
		}
	} else if fault = errLength; f.Opcode() != Acknowledge {
		return fault
	}
	var ok bool
	if p.SACK, ok = parseSACK(b); !ok {
		return fault
	}
	return nil
}
