package work

import "github.com/rackfab/rackfab/fabric/unit"

// Cutter segments commands into packets and sub-requests.
type Cutter struct {
	Payload unit.Bytes // maximum payload of a packet
	// SubRequest is the maximum amount of data per request. If it equals
	// Payload, one packet answers each request.
	SubRequest unit.Bytes
	// Length is how RspPktLen counts a response packet.
	Length Length
}

// Length is the hardware's register of the response length: a header of 40
// bytes, a payload scale of 1 and a payload shift of 0. The hardware's use of
// scale and shift is not published. Here the payload is multiplied by Scale,
// divided by 2 to the Shift and rounded down.
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

// Of returns the length of a response packet with that payload.
func (l Length) Of(payload unit.Bytes) unit.Bytes {
	return payload*unit.Bytes(l.Scale)>>l.Shift + l.Header
}

// Part is the part of a command that one request packet covers.
type Part struct {
	Offset, Bytes unit.Bytes // of the command's data: carried or requested
	First, Last   bool       // of the command
	// Packets is the number of packet sequence numbers that the part takes: one
	// per response packet if it requests data, else 1.
	Packets int32
	// Response is RspPktLen, the length of the packets that answer a data
	// request; 0 for all other verbs.
	Response unit.Bytes
}

// Part returns the part of the command that begins at offset. offset must be
// below the command's size.
func (c *Cutter) Part(cmd *Command, offset unit.Bytes) Part {
	most := c.most(cmd)
	p := Part{Offset: offset, Bytes: min(most, cmd.Size-offset), First: offset == 0, Packets: 1}
	p.Last = offset+p.Bytes == cmd.Size
	if cmd.Verb.AsksForData() {
		p.Packets, p.Response = c.Answer(p.Bytes)
	}
	return p
}

// follow turns a part of the command, not the last, into the next one.
func (c *Cutter) follow(cmd *Command, p *Part) {
	p.Offset += p.Bytes
	p.First = false
	if left := cmd.Size - p.Offset; left <= p.Bytes {
		p.Bytes, p.Last = left, true
		if cmd.Verb.AsksForData() {
			p.Packets, p.Response = c.Answer(left)
		}
	}
}

// most returns the data that every part of a command but the last covers.
func (c *Cutter) most(cmd *Command) unit.Bytes {
	switch {
	case cmd.Verb.AsksForData():
		return c.SubRequest
	case cmd.Verb.Atomic():
		return AtomicSize
	}
	return c.Payload
}

// packets returns the number of packets that the first bytes of a command take, a whole number
// of parts or all of it.
func (c *Cutter) packets(cmd *Command, bytes unit.Bytes) int64 {
	most := c.most(cmd)
	if !cmd.Verb.AsksForData() {
		return packets(bytes, most)
	}
	each, _ := c.Answer(most)
	rest, _ := c.Answer(bytes % most)
	return int64(bytes/most)*int64(each) + int64(rest)
}

// Answer returns the number of packets that answer a request for the given
// bytes, and their total length. Each carries min(remaining, Payload).
func (c *Cutter) Answer(bytes unit.Bytes) (packets int32, length unit.Bytes) {
	packets = int32(bytes / c.Payload)
	length = unit.Bytes(packets) * c.Length.Of(c.Payload)
	if rest := bytes % c.Payload; rest > 0 {
		packets++
		length += c.Length.Of(rest)
	}
	return packets, length
}
