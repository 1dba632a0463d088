package command

import "github.com/rackfab/rackfab/fabric/unit"

// Cutter cuts commands into packets and sub-requests.
type Cutter struct {
	Payload unit.Bytes // of a packet, at most
	// SubRequest is how much data one request asks for, at most. At Payload each
	// request is answered by one packet.
	SubRequest unit.Bytes
	// Header is what a response packet has beside its payload, as RspPktLen counts
	// it; the hardware's register says 40 bytes.
	Header unit.Bytes
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
// length: min(remaining, Payload) + Header each.
func (c *Cutter) Answer(bytes unit.Bytes) (packets int32, length unit.Bytes) {
	packets = int32((bytes + c.Payload - 1) / c.Payload)
	return packets, bytes + unit.Bytes(packets)*c.Header
}
