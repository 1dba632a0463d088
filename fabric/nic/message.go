package nic

import (
	"math"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	// maxMessage is the longest RDMA message (IBTA volume 1 §9.3.3: 2^31 bytes).
	maxMessage unit.Bytes = 1 << 31
	// endlessMessage is the length of the messages of an endless flow, so that it
	// completes messages and its MSN advances.
	endlessMessage = unit.Megabyte
)

// messages divides a flow into WRITE messages, and these into packets. Packets are
// numbered from 0 over the whole flow. Every message but the last has the length
// message.
type messages struct {
	size    unit.Bytes // of the flow; math.MaxInt64 if it is endless
	message unit.Bytes
	payload unit.Bytes // of every packet but the last of a message
	packets int64      // in a message of full length
}

func newMessages(size, payload unit.Bytes) messages {
	m := messages{size: size, message: min(size, maxMessage), payload: payload}
	if size == Endless {
		m.size, m.message = math.MaxInt64, endlessMessage
	}
	m.packets = int64((m.message + payload - 1) / payload)
	return m
}

// piece is one packet's share of a message.
type piece struct {
	message int64      // index of the message
	index   int64      // of the packet in its message
	length  unit.Bytes // of the whole message
	bytes   unit.Bytes // payload of the packet, without pad
	last    bool       // last packet of its message
}

// piece returns packet number n of the flow; n must be below count.
func (m *messages) piece(n int64) piece {
	p := piece{message: n / m.packets, index: n % m.packets}
	p.length = min(m.message, m.size-unit.Bytes(p.message)*m.message)
	rest := p.length - unit.Bytes(p.index)*m.payload
	p.bytes = min(m.payload, rest)
	p.last = p.bytes == rest
	return p
}

// before returns the payload of the packets below n, in bytes.
func (m *messages) before(n int64) unit.Bytes {
	inside := min(unit.Bytes(n%m.packets)*m.payload, m.message)
	return min(unit.Bytes(n/m.packets)*m.message+inside, m.size)
}

// count returns the number of packets of the flow.
func (m *messages) count() int64 {
	if m.size == math.MaxInt64 {
		return math.MaxInt64
	}
	full, rest := m.size/m.message, m.size%m.message
	return int64(full)*m.packets + int64((rest+m.payload-1)/m.payload)
}

// opcode returns the WRITE opcode of the piece (IBTA volume 1 §9.4.3).
func (p *piece) opcode() frame.Opcode {
	switch {
	case p.index == 0 && p.last:
		return frame.WriteOnly
	case p.index == 0:
		return frame.WriteFirst
	case p.last:
		return frame.WriteLast
	}
	return frame.WriteMiddle
}
