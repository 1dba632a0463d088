package command

import "github.com/rackfab/rackfab/fabric/unit"

// Cutter cuts commands into packets and sub-requests.
type Cutter struct {
	Payload unit.Bytes // of a packet, at most
	// SubRequest is how much data one request asks for, at most. At Payload each
	// request is answered by one packet.
	SubRequest unit.Bytes
	// Length is how RspPktLen counts a response packet.
	Length Length
}

// Length is the hardware's register of the response length: a header of 40 bytes, a
// payload scale of 1 and a payload shift of 0. What the hardware does with the latter
// two is not published; here the payload counts Scale times, divided by 2 to the Shift
// and rounded down.
type Length struct {
	Header unit.Bytes // of each packet, at least 0
	Scale  int        // 1 to MaxScale
	Shift  int        // 0 to MaxShift
}

// The scale has 3 bits in the register; the shift is bounded alike.
const (
	MaxScale = 7
	MaxShift = 7
)

// Of gives the length of a response packet with that payload.
func (l Length) Of(payload unit.Bytes) unit.Bytes {
	return payload*unit.Bytes(l.Scale)>>l.Shift + l.Header
}

// Part is what one request packet has of a command.
type Part struct {
	Offset, Bytes unit.Bytes // of the command's data: carried, or asked for
	First, Last   bool       // of the command
	// Packets is how many packet sequence numbers the part takes: one for each
	// packet of its answer if it asks for data, else 1.
	Packets int32
	// Response is RspPktLen, the length of the packets that answer a data request;
	// 0 for all other verbs.
	Response unit.Bytes
}

// Part gives the part of the command that begins at offset, which is below its
// size.
func (c *Cutter) Part(cmd *Command, offset unit.Bytes) Part {
	most := c.Payload
	switch {
	case cmd.Verb.AsksForData():
		most = c.SubRequest
	case cmd.Verb.Atomic():
		most = AtomicSize
	}
	p := Part{Offset: offset, Bytes: min(most, cmd.Size-offset), First: offset == 0, Packets: 1}
	p.Last = offset+p.Bytes == cmd.Size
	if cmd.Verb.AsksForData() {
		p.Packets, p.Response = c.Answer(p.Bytes)
	}
	return p
}

// Answer gives how many packets answer a request for so much data, and their
// length: that of a packet of min(remaining, Payload) each.
func (c *Cutter) Answer(bytes unit.Bytes) (packets int32, length unit.Bytes) {
	packets = int32(bytes / c.Payload)
	length = unit.Bytes(packets) * c.Length.Of(c.Payload)
	if rest := bytes % c.Payload; rest > 0 {
		packets++
		length += c.Length.Of(rest)
	}
	return packets, length
}
