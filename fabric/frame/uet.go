package frame

import (
	"encoding/binary"
)

// UET packets over UDP: the packet delivery header (PDS) and, on requests, the
// standard semantic header (SES). The public headers of
// xdp2, uet-ref-prov and the Wireshark dissector of UET agree on these layouts.
// Fields that no scheme here needs stay 0 (job, keys, tokens). There is no
// encryption and no trailer.
const (
	pdsPrologue = udpEnd      // type 5, next header or control type 4, flags 7
	pdsOffset   = udpEnd + 2  // request: clear PSN offset; ACK: PSN offset; control: probe; NACK: code
	pdsPSN      = udpEnd + 4  // request: its own; ACK: cumulative; NACK: of the packet that arrived
	pdsSource   = udpEnd + 8  // packet delivery context at the source
	pdsDest     = udpEnd + 10 // packet delivery context at the destination
	pdsEnd      = udpEnd + 12

	uetContext = pdsEnd     // request: congestion control context 8, credit target 24
	uetPayload = pdsEnd     // control and NACK: 32 bits
	sesStart   = pdsEnd + 4 // request
	sesFlags   = sesStart + 1
	sesMessage = sesStart + 2
	sesData    = sesStart + 32 // of the first packet: header data, 64 bits
	sesLength  = sesStart + 34 // of the payload: 18 bits reserved, 14
	sesOffset  = sesStart + 36 // of the payload in the message
	sesRequest = sesStart + 40 // length of the message
	uetDataEnd = sesStart + 44

	uetAckEnd = pdsEnd + 20
	uetCtlEnd = pdsEnd + 4

	// UETHeaders is the length of a request's headers in bytes.
	UETHeaders = uetDataEnd

	// PortUET is the UDP destination port of UET (xdp2).
	PortUET = 4793
)

// UETType is the type of a UET packet.
type UETType uint8

// Types of UET packets that are emulated.
const (
	UETAck       UETType = 8  // ACK_CC: acknowledges, with a state of congestion control
	UETNack      UETType = 10 // NACK: a gap before a packet of ordered delivery, or a trimmed packet
	UETControl   UETType = 11 // credit, or a request for it
	UETUnordered UETType = 13 // RUD_CC_REQ: data with a credit target, unordered delivery
	UETRequest   UETType = 14 // ROD_CC_REQ: data with a credit target, ordered delivery
)

// IsRequest reports whether packets of the type carry data.
func (t UETType) IsRequest() bool { return t == UETUnordered || t == UETRequest }

// UETControlType is the type of a UET control packet.
type UETControlType uint8

// Control types that are emulated.
const (
	UETCredit        UETControlType = 7
	UETCreditRequest UETControlType = 8
)

const (
	sesStandard      = 3    // next header: standard request
	sesWrite         = 1    // semantic opcode
	sesFirst         = 0x01 // flags: start of message
	sesLast          = 0x02 // end of message
	sesHasData       = 0x04 // the first packet has header data
	pdsFlagAck       = 0x08 // request: acknowledge at once
	pdsFlagResent    = 0x10 // request: sent before; ACK, NACK: the packet that it answers was
	pdsFlagMarked    = 0x20 // ACK, NACK: the packet that it answers was marked
	mostUETContext   = 1 << 16
	prologueTypeBits = 11
	prologueNextBits = 7
)

// MaxUETPayload is the maximum payload of a request in bytes: its length field
// has 14 bits.
const MaxUETPayload = 1<<14 - 1

// MaxUETFlows is the maximum number of flows, each with its own packet delivery
// context.
const MaxUETFlows = mostUETContext - 1

// UET is a parsed UET packet. Type determines which fields are on the wire.
type UET struct {
	// Header holds addresses, DSCP, ECN, TTL, ID, SrcPort and Payload; its other
	// fields are not used.
	Header Packet
	Type   UETType
	Flow   uint32 // below MaxUETFlows; both contexts are the flow plus 1
	PSN    uint32 // request: its own; ACK: cumulative; NACK: of the packet that arrived

	Target  uint32 // request: 24 bits
	Message uint16 // request
	First   bool   // request: first of its message
	Last    bool   // request: last of its message
	AckReq  bool   // request
	Resent  bool   // request
	Offset  uint32 // request: of the payload in its message; 0 if First
	Length  uint32 // request: of the message
	Tagged  bool   // request, if First: Tag is its header data
	Tag     uint32 // request: the lower half of the header data
	Cut     uint32 // request, trimmed: bytes of its payload that a switch cut off; 0 if First

	State   UETState // ACK
	SACK    SACK     // ACK; none if its bitmap is 0
	Receipt Receipt  // ACK, NACK: Marked and Resent; ACK: PSN and OutOfOrder; with StateNSCC the rest but SrcPort

	Credit   uint32 // ACK with StateCredit: 24 bits; control: 32 bits, in quanta
	Control  UETControlType
	Code     UETCode // NACK
	Expected uint32  // NACK: the missing PSN
}

// uetEnd returns the end of the headers of a type.
func uetEnd(t UETType) uint8 {
	switch t {
	case UETRequest, UETUnordered:
		return uetDataEnd
	case UETAck:
		return uetAckEnd
	case UETNack, UETControl:
		return uetCtlEnd
	}
	return noOpcode
}

// UETType returns the type of a frame of ClassUET.
func (f *Frame) UETType() UETType { return UETType(f.head[pdsPrologue] >> 3) }

// UETFlow returns the flow of the packet's context, or false if the packet
// names no context.
func (f *Frame) UETFlow() (uint32, bool) {
	context := binary.BigEndian.Uint16(f.head[pdsDest:])
	return uint32(context) - 1, context != 0
}

// UETControl returns the control type of a UETControl packet.
func (f *Frame) UETControl() UETControlType {
	return UETControlType(binary.BigEndian.Uint16(f.head[pdsPrologue:]) >> prologueNextBits & 15)
}

// UETPSN returns the PSN of a UET packet, 32 bits: a request's own, the last
// one that an ACK acknowledges, or the one that a NACK answers.
func (f *Frame) UETPSN() uint32 { return binary.BigEndian.Uint32(f.head[pdsPSN:]) }

// UETResent reports whether a request was sent before.
func (f *Frame) UETResent() bool { return f.head[pdsPrologue+1]&pdsFlagResent != 0 }

// UETAckReq reports whether a request must be acknowledged at once.
func (f *Frame) UETAckReq() bool { return f.head[pdsPrologue+1]&pdsFlagAck != 0 }

// UETSpan returns the length of a request's message and the offset of the
// payload in it, both in bytes, and whether the request is the message's last.
func (f *Frame) UETSpan() (length, offset uint32, last bool) {
	if f.head[sesFlags]&sesFirst == 0 {
		offset = binary.BigEndian.Uint32(f.head[sesOffset:])
	}
	return binary.BigEndian.Uint32(f.head[sesRequest:]), offset, f.head[sesFlags]&sesLast != 0
}

// UETTag returns the lower half of the header data of a request, or false if it has none.
func (f *Frame) UETTag() (uint32, bool) {
	const tagged = sesFirst | sesHasData
	return binary.BigEndian.Uint32(f.head[sesData+4:]), f.head[sesFlags]&tagged == tagged
}

// ControlCredit returns the credit of a control packet, 32 bits.
func (f *Frame) ControlCredit() uint32 { return binary.BigEndian.Uint32(f.head[uetPayload:]) }

// Missing returns the PSN that a NACK requests.
func (f *Frame) Missing() uint32 { return binary.BigEndian.Uint32(f.head[uetPayload:]) }

// CreditTarget returns the field target_pull of a request, 24 bits.
func (f *Frame) CreditTarget() uint32 { return uint24(f.head[uetContext+1:]) }

// Build writes the packet's headers into f and sets f.Payload. It does not
// change Arrival and Trace. With a payload above 16383 bytes the result is
// malformed.
func (u *UET) Build(f *Frame) {
	end := uetEnd(u.Type)
	if end == noOpcode {
		end = pdsEnd
	}
	h := &u.Header
	f.n, f.shift = end, 0
	f.Payload = h.Payload
	clear(f.head[udpEnd:])
	*(*Addr)(f.head[ethDst:]) = h.DstMAC
	*(*Addr)(f.head[ethSrc:]) = h.SrcMAC
	binary.BigEndian.PutUint16(f.head[ethType:], typeIPv4)
	length := uint32(end) - ethEnd + h.Payload
	h.buildIP(f, length)
	h.buildUDP(f, length-(ipEnd-ethEnd))
	binary.BigEndian.PutUint16(f.head[udpDst:], PortUET)
	binary.BigEndian.PutUint32(f.head[pdsPSN:], u.PSN)
	binary.BigEndian.PutUint16(f.head[pdsSource:], uint16(u.Flow+1))
	binary.BigEndian.PutUint16(f.head[pdsDest:], uint16(u.Flow+1))
	switch u.Type {
	case UETRequest, UETUnordered:
		u.buildRequest(f)
	case UETAck:
		u.buildAck(f)
	case UETNack:
		f.putPrologue(u.Type, 0, u.Receipt.flags())
		f.head[pdsOffset] = byte(u.Code)
		binary.BigEndian.PutUint32(f.head[uetPayload:], u.Expected)
	case UETControl:
		f.putPrologue(u.Type, uint8(u.Control), 0)
		binary.BigEndian.PutUint32(f.head[uetPayload:], u.Credit)
	}
}

func (f *Frame) putPrologue(t UETType, next, flags uint8) {
	binary.BigEndian.PutUint16(f.head[pdsPrologue:],
		uint16(t)<<prologueTypeBits|uint16(next)<<prologueNextBits|uint16(flags))
}

func (u *UET) buildRequest(f *Frame) {
	f.putPrologue(u.Type, sesStandard, bit(u.AckReq, pdsFlagAck)|bit(u.Resent, pdsFlagResent))
	putUint24(f.head[uetContext+1:], u.Target)
	f.head[sesStart] = sesWrite
	f.head[sesFlags] = bit(u.First, sesFirst) | bit(u.Last, sesLast)
	binary.BigEndian.PutUint16(f.head[sesMessage:], u.Message)
	switch {
	case u.First && u.Tagged:
		f.head[sesFlags] |= sesHasData
		binary.BigEndian.PutUint32(f.head[sesData+4:], u.Tag)
	case !u.First:
		binary.BigEndian.PutUint32(f.head[sesLength-2:], (u.Header.Payload+u.Cut)&MaxUETPayload)
		binary.BigEndian.PutUint32(f.head[sesOffset:], u.Offset)
	}
	binary.BigEndian.PutUint32(f.head[sesRequest:], u.Length)
}

// classUET classifies an IPv4 frame to UET's port.
func (f *Frame) classUET() Class {
	h := &f.head
	length := binary.BigEndian.Uint16(h[ipLength:])
	if f.n >= pdsEnd && f.n == uetEnd(f.UETType()) &&
		h[ipProtocol] == protocolUDP &&
		binary.BigEndian.Uint16(h[udpDst:]) == PortUET &&
		binary.BigEndian.Uint16(h[ipFlags:])&fragmentMask == 0 &&
		uint64(length) == uint64(f.n)-ethEnd+uint64(f.Payload) &&
		binary.BigEndian.Uint16(h[udpLength:]) == length-(ipEnd-ethEnd) {
		return ClassUET
	}
	return ClassMalformed
}

// Parse parses f into u. It rejects frames that Build would not write, with an
// error that wraps ErrMalformed, and leaves u unchanged then.
func (u *UET) Parse(f *Frame) error {
	if f.Class() != ClassUET {
		return errClass
	}
	h := Packet{SrcMAC: f.SrcMAC(), DstMAC: f.DstMAC(), Payload: f.Payload}
	if err := h.parseIP(f); err != nil {
		return err
	}
	if err := h.parseUDP(f); err != nil {
		return err
	}
	flow, ok := f.UETFlow()
	if !ok {
		return errContext
	}
	v := UET{Header: h, Type: f.UETType(), Flow: flow, PSN: binary.BigEndian.Uint32(f.head[pdsPSN:])}
	v.parseType(f)
	var again Frame
	if v.Build(&again); again.head != f.head || f.Payload > MaxUETPayload {
		return errReserved
	}
	*u = v
	return nil
}

var errContext = malformed("unknown packet delivery context")

// parseType parses the fields of the packet's type.
func (u *UET) parseType(f *Frame) {
	h := &f.head
	prologue := binary.BigEndian.Uint16(h[pdsPrologue:])
	switch u.Type {
	case UETRequest, UETUnordered:
		u.AckReq, u.Resent = prologue&pdsFlagAck != 0, prologue&pdsFlagResent != 0
		u.Target = f.CreditTarget()
		u.Message = binary.BigEndian.Uint16(h[sesMessage:])
		u.First, u.Last = h[sesFlags]&sesFirst != 0, h[sesFlags]&sesLast != 0
		u.Length = binary.BigEndian.Uint32(h[sesRequest:])
		if u.Tag, u.Tagged = f.UETTag(); !u.Tagged {
			u.Tag = 0
		}
		if !u.First {
			u.Offset = binary.BigEndian.Uint32(h[sesOffset:])
			if sent := f.sentRequest(); sent > f.Payload {
				u.Cut = sent - f.Payload
			}
		}
	case UETAck:
		u.State, u.SACK, u.Receipt = f.AckState(), f.UETSACK(), f.UETReceipt()
		if u.State == StateCredit {
			u.Credit = f.AckCredit()
		}
	case UETNack:
		u.Code, u.Receipt = f.UETCode(), f.UETReceipt()
		u.Expected = binary.BigEndian.Uint32(h[uetPayload:])
	case UETControl:
		u.Control = UETControlType(prologue >> prologueNextBits & 15)
		u.Credit = binary.BigEndian.Uint32(h[uetPayload:])
	}
}
