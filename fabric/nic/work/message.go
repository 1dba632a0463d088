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

// Posted is the size of a flow whose messages a program posts while it runs.
const Posted unit.Bytes = -2

// Stream is a flow as a sequence of WRITE messages. A flow of up to MaxMessage bytes is one
// message.
type Stream struct {
	left    unit.Bytes // without a command so far; of an endless flow practically unlimited
	message unit.Bytes // length of every message but the last
	next    Command
}

// NewStream returns the messages of a flow of the given size, which is at least 1, Endless or Posted.
// Those that a program posts are not part of it.
func NewStream(size unit.Bytes) Stream {
	if size == Endless {
		return Stream{left: math.MaxInt64, message: endlessMessage}
	}
	if size == Posted {
		return Stream{}
	}
	return Stream{left: size, message: MaxMessage}
}

// Next returns the command for the next message. IDs count from 0, and the messages lie one
// after another in the peer's memory. Next returns false at the end of the flow.
func (s *Stream) Next() (Command, bool) {
	c := s.next
	c.Size = min(s.message, s.left)
	s.left -= c.Size
	s.next = Command{ID: c.ID + 1, Address: c.Address + uint64(c.Size)}
	return c, c.Size > 0
}

// Packets returns the number of packets of all messages of a flow of the given size, which is at
// least 1.
func Packets(size, payload unit.Bytes) int64 {
	full, rest := size/MaxMessage, size%MaxMessage
	return int64(full)*packets(MaxMessage, payload) + packets(rest, payload)
}

// packets returns the number of packets that carry size bytes.
func packets(size, payload unit.Bytes) int64 { return int64((size + payload - 1) / payload) }
