package frame

import "encoding/binary"

// The ACK_CC of UET: the acknowledged packets, the packet that it answers, and a state of
// congestion control of 64 bits. Layouts are those of xdp2.
//
//	54  4 bits   type of the state
//	    4 bits   0
//	55  8 bits   maximum PSN range, 0 here
//	56  16 bits  start of the bitmap, less the cumulative PSN
//	58  64 bits  bitmap, most significant bit first, which is this project's reading
//	66  64 bits  state: of NSCC   service time 16, restore 1, penalty 7, received 24, out of order 16
//	                    of credit credit 24, 0, out of order 16
//
// At 44 is the PSN of the packet that the ACK answers, less the cumulative PSN.
const (
	ackType   = pdsEnd
	ackOffset = pdsEnd + 2
	ackBitmap = pdsEnd + 4
	ackState  = pdsEnd + 12
	ackOOO    = pdsEnd + 18

	ackRestore = 0x80 // in the third byte of the state of NSCC, with the penalty
)

// UETState is the type of the state of congestion control in an ACK.
type UETState uint8

// Types of states.
const (
	StateNSCC   UETState = 0
	StateCredit UETState = 1
)

// UETCode is the code of a NACK.
type UETCode uint8

// Codes of NACKs that are emulated.
const (
	UETTrimmed        UETCode = 0x01 // a switch before the last hop trimmed the packet
	UETTrimmedLastHop UETCode = 0x02 // the last switch trimmed the packet
	UETOutOfOrder     UETCode = 0x0d // out of order on ordered delivery
)

// flags returns the prologue's flags of an ACK or NACK.
func (r *Receipt) flags() uint8 { return bit(r.Marked, pdsFlagMarked) | bit(r.Resent, pdsFlagResent) }

// buildAck writes the headers of an ACK after the contexts.
func (u *UET) buildAck(f *Frame) {
	r := &u.Receipt
	f.putPrologue(u.Type, 0, r.flags())
	binary.BigEndian.PutUint16(f.head[pdsOffset:], uint16(r.PSN-u.PSN))
	f.head[ackType] = byte(u.State) << 4
	if u.SACK.Bitmap != 0 {
		binary.BigEndian.PutUint16(f.head[ackOffset:], uint16(u.SACK.Base-u.PSN))
		binary.BigEndian.PutUint64(f.head[ackBitmap:], u.SACK.Bitmap)
	}
	binary.BigEndian.PutUint16(f.head[ackOOO:], r.OutOfOrder)
	if u.State == StateCredit {
		putUint24(f.head[ackState:], u.Credit)
		return
	}
	binary.BigEndian.PutUint16(f.head[ackState:], r.Service)
	f.head[ackState+2] = bit(r.Restore, ackRestore) | r.Penalty&^ackRestore
	putUint24(f.head[ackState+3:], r.Received)
}

// AckState returns the type of the state in an ACK.
func (f *Frame) AckState() UETState { return UETState(f.head[ackType] >> 4) }

// AckCredit returns the credit of an ACK with StateCredit, 24 bits.
func (f *Frame) AckCredit() uint32 { return uint24(f.head[ackState:]) }

// UETCode returns the code of a NACK.
func (f *Frame) UETCode() UETCode { return UETCode(f.head[pdsOffset]) }

// UETSACK returns the SACK of an ACK. Its bitmap is 0 if there is none.
func (f *Frame) UETSACK() SACK {
	set := binary.BigEndian.Uint64(f.head[ackBitmap:])
	if set == 0 {
		return SACK{}
	}
	return SACK{Base: f.UETPSN() + uint32(int16(binary.BigEndian.Uint16(f.head[ackOffset:]))), Bitmap: set}
}

// UETReceipt returns what an ACK or NACK reports on the packet that it answers, and an ACK on the
// receiver. The state of credit has no other field of the latter than OutOfOrder. No SrcPort is
// on the wire: the sender knows that of each packet.
func (f *Frame) UETReceipt() (r Receipt) {
	flags := f.head[pdsPrologue+1]
	r.Marked, r.Resent = flags&pdsFlagMarked != 0, flags&pdsFlagResent != 0
	if f.UETType() != UETAck {
		return r
	}
	r.PSN = f.UETPSN() + uint32(int16(binary.BigEndian.Uint16(f.head[pdsOffset:])))
	r.OutOfOrder = binary.BigEndian.Uint16(f.head[ackOOO:])
	if f.AckState() == StateCredit {
		return r
	}
	r.Service = binary.BigEndian.Uint16(f.head[ackState:])
	pend := f.head[ackState+2]
	r.Restore, r.Penalty = pend&ackRestore != 0, pend&^ackRestore
	r.Received = uint24(f.head[ackState+3:])
	return r
}
