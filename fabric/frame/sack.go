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

// splitSACK returns the SACK at the start of b and the bytes after it, or no SACK and b itself if
// b does not begin with one that has packets.
func splitSACK(b []byte) (SACK, []byte) {
	if len(b) < sackLen || b[0] != sackCode {
		return SACK{}, b
	}
	s := SACK{Base: uint24(b[1:]), Bitmap: binary.BigEndian.Uint64(b[4:])}
	if s.Bitmap == 0 {
		return s, b
	}
	return s, b[sackLen:]
}

// SACK returns the SACK of an ACK or NAK. Its bitmap is 0 if there is none.
func (f *Frame) SACK() SACK {
	if f.n < bthEnd+aethLen+sackLen { // as most
		return SACK{}
	}
	return f.sack()
}

func (f *Frame) sack() SACK {
	if f.Opcode() != Acknowledge {
		return SACK{}
	}
	s, _ := splitSACK(f.afterCETH())
	return s
}

// afterCETH returns the header bytes between the AETH, or the CETH after it, and the timestamps of
// an ACK or NAK.
func (f *Frame) afterCETH() []byte {
	b := f.beyond()
	if c, ok := f.CETH(); ok {
		b = b[c.len():]
	}
	return b
}

// carriesSACK reports whether the packet has a SACK: it acknowledges, or has a CETH.
func (p *Packet) carriesSACK() bool {
	return p.SACK.Bitmap != 0 && (p.BTH.Opcode == Acknowledge || p.CETH.len() > 0 && p.BTH.Opcode.carriesCETH())
}

// appends reports whether the packet may have a CETH, SACK or receipt. Most have none.
func (p *Packet) appends() bool { return p.CETH.Words != 0 || p.SACK.Bitmap != 0 || p.Receipted }

// carriesReceipt reports whether the packet has a receipt: it acknowledges.
func (p *Packet) carriesReceipt() bool { return p.Receipted && p.BTH.Opcode == Acknowledge }

// appended returns the length in bytes of CETH, SACK and receipt.
func (p *Packet) appended() (n uint8) {
	if p.BTH.Opcode.carriesCETH() {
		n = uint8(p.CETH.len())
	}
	if p.carriesSACK() {
		n += sackLen
	}
	if p.carriesReceipt() {
		n += receiptLen
	}
	return n
}

// buildAppended writes CETH, SACK and receipt.
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
		b = b[sackLen:]
	}
	if p.carriesReceipt() {
		p.Receipt.put(b)
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
	if p.SACK, b = splitSACK(b); len(b) == 0 {
		return nil
	}
	if p.Receipt, p.Receipted = parseReceipt(b); !p.Receipted || f.Opcode() != Acknowledge {
		return fault
	}
	return nil
}
