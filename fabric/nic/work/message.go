package work

import (
	"math"

	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	// MaxMessage is the longest RDMA message (IBTA volume 1 §9.3.3: 2^31 bytes).
	MaxMessage unit.Bytes = 1 << 31
	// endlessMessage is the length of the messages of an endless flow, so that it
	// completes messages and its MSN advances.
	endlessMessage = unit.Megabyte
)

// Endless is the size of a flow that sends until the run ends.
const Endless unit.Bytes = -1

// Messages divides a flow into WRITE messages, and these into packets. Packets are
// numbered from 0 over the whole flow.
type Messages struct {
	Size    unit.Bytes // of the flow; math.MaxInt64 if it is endless
	Message unit.Bytes // of every message but the last
	Payload unit.Bytes // of every packet but the last of a message
	Packets int64      // in a message of full length
}

// NewMessages returns the messages of a flow of the given size, in packets of at most payload.
func NewMessages(size, payload unit.Bytes) Messages {
	m := Messages{Size: size, Message: min(size, MaxMessage), Payload: payload}
	if size == Endless {
		m.Size, m.Message = math.MaxInt64, endlessMessage
	}
	m.Packets = int64((m.Message + payload - 1) / payload)
	return m
}

// Piece is one packet's share of a message.
type Piece struct {
	Message int64      // index of the message
	Index   int64      // of the packet in its message
	Length  unit.Bytes // of the whole message
	Bytes   unit.Bytes // payload of the packet, without pad
	Last    bool       // last packet of its message
}

// Piece returns packet number n of the flow; n must be below Count.
func (m *Messages) Piece(n int64) Piece {
	p := Piece{Message: n / m.Packets, Index: n % m.Packets}
	p.Length = min(m.Message, m.Size-unit.Bytes(p.Message)*m.Message)
	rest := p.Length - unit.Bytes(p.Index)*m.Payload
	p.Bytes = min(m.Payload, rest)
	p.Last = p.Bytes == rest
	return p
}

// Before returns the payload of the packets below n, in bytes.
func (m *Messages) Before(n int64) unit.Bytes {
	inside := min(unit.Bytes(n%m.Packets)*m.Payload, m.Message)
	return min(unit.Bytes(n/m.Packets)*m.Message+inside, m.Size)
}

// Count returns the number of packets of the flow.
func (m *Messages) Count() int64 {
	if m.Size == math.MaxInt64 {
		return math.MaxInt64
	}
	full, rest := m.Size/m.Message, m.Size%m.Message
	return int64(full)*m.Packets + int64((rest+m.Payload-1)/m.Payload)
}
