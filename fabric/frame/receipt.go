package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Receipt reports on the packet that an ACK or NAK answers, and on the state of the receiver. It
// follows the AETH, or the CETH and the SACK after it. The fields are those that public accounts
// of MRC 1.0 (OCP) and the ACK_CC of UET name; the layout, 16 bytes, is this project's. A packet
// with a receipt has BECN only if it has a CETH: a receipt could be read as one.
//
//	3 bits   code, 011
//	1 bit    the packet was marked (CE)
//	1 bit    the packet was sent before
//	1 bit    restore
//	2 bits   0
//	24 bits  PSN of the packet
//	1 bit    0
//	7 bits   penalty
//	24 bits  received
//	16 bits  UDP source port of the packet, its entropy
//	16 bits  out of order
//	16 bits  service time
//	16 bits  0
type Receipt struct {
	PSN     uint32 // 24 bits
	SrcPort uint16
	Marked  bool
	Resent  bool
	// Penalty and Restore are those of NSCC (Rcv_Cwnd_Pend, 0 to 127).
	Penalty uint8
	Restore bool
	// Received counts the payload and headers of new packets, neither trimmed nor duplicate, in
	// units of ReceivedUnit, rounded up. It wraps around after 24 bits.
	Received uint32
	// OutOfOrder is the number of packets that the receiver has placed beyond the expected one.
	OutOfOrder uint16
	// Service is the time from the packet's arrival to the transmission of the ACK or NAK, in
	// units of ServiceUnit.
	Service uint16
}

// Units of a Receipt, those of UET's ACK_CC.
const (
	ReceivedUnit unit.Bytes = 256
	ServiceUnit             = 128 * unit.Nanosecond
)

// nextReceipt is the code of the header, this project's.
const nextReceipt Next = 0b011

const (
	receiptLen = 16

	receiptMarked  = 0x10
	receiptResent  = 0x08
	receiptRestore = 0x04
)

// put writes the header to b, which must be long enough.
func (r *Receipt) put(b []byte) {
	binary.BigEndian.PutUint32(b, r.PSN)
	b[0] = byte(nextReceipt)<<5 | bit(r.Marked, receiptMarked) | bit(r.Resent, receiptResent) | bit(r.Restore, receiptRestore)
	binary.BigEndian.PutUint32(b[4:], r.Received)
	b[4] = r.Penalty & 0x7f
	binary.BigEndian.PutUint16(b[8:], r.SrcPort)
	binary.BigEndian.PutUint16(b[10:], r.OutOfOrder)
	binary.BigEndian.PutUint16(b[12:], r.Service)
	clear(b[14:receiptLen])
}

// parseReceipt parses b. It returns false if b is not exactly one header.
func parseReceipt(b []byte) (r Receipt, ok bool) {
	if len(b) != receiptLen || b[0]>>5 != byte(nextReceipt) || b[0]&3 != 0 || b[4]&0x80 != 0 || b[14]|b[15] != 0 {
		return r, false
	}
	return Receipt{
		PSN: uint24(b[1:]), SrcPort: binary.BigEndian.Uint16(b[8:]),
		Marked: b[0]&receiptMarked != 0, Resent: b[0]&receiptResent != 0,
		Penalty: b[4], Restore: b[0]&receiptRestore != 0,
		Received: uint24(b[5:]), OutOfOrder: binary.BigEndian.Uint16(b[10:]), Service: binary.BigEndian.Uint16(b[12:]),
	}, true
}

// Receipt returns the receipt of an ACK or NAK, or false if it has none.
func (f *Frame) Receipt() (Receipt, bool) {
	if f.Opcode() != Acknowledge || f.n < bthEnd+aethLen+receiptLen {
		return Receipt{}, false
	}
	_, b := splitSACK(f.afterCETH())
	return parseReceipt(b)
}

// resent is the bit of a data packet's seven reserved bits next to AckReq that is set if the packet
// was sent before. The ICRC covers it, and no other header uses it in a data packet. The bit is
// this project's choice; UET has a flag of its own.
const resent = 0x01

// SentBefore returns the seven reserved bits of a data packet, one of which is set if it was sent
// before.
func SentBefore(before bool) (resv7 uint8) { return bit(before, resent) }

// Resent reports whether a data packet says that it was sent before.
func (f *Frame) Resent() bool { return f.Resv7()&resent != 0 }
