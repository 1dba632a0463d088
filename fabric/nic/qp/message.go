package qp

import (
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// message is the progress of the message that a responder receives: its missing bytes, 0
// between messages.
type message struct{ missing unit.Bytes }

// unknown is the number of missing bytes within a SEND, whose length is known when its last
// packet arrives.
const unknown unit.Bytes = -1

// within reports whether packets of the message are missing.
func (m *message) within() bool { return m.missing != 0 }

// takeWrite adds a packet of a WRITE and returns its payload bytes without pad. It returns
// false and changes nothing if the packet does not fit: a first packet within a message, any
// other packet outside one, or too much or too little payload.
func (m *message) takeWrite(f *frame.Frame) (unit.Bytes, bool) {
	op := f.Opcode()
	left, payload := m.missing, unit.Bytes(f.Payload)
	if op.HasRETH() == m.within() {
		return 0, false
	}
	if op.HasRETH() {
		left = unit.Bytes(f.DMALength())
	}
	if last := op.WithImm(); last == frame.WriteLastImm || last == frame.WriteOnlyImm {
		if left <= 0 || payload != left+unit.Bytes(frame.PadCount(uint32(left))) {
			return 0, false
		}
		m.missing = 0
		return left, true
	}
	if payload == 0 || payload >= left {
		return 0, false
	}
	m.missing = left - payload
	return payload, true
}

// takeSend adds a packet of a SEND, see takeWrite.
func (m *message) takeSend(f *frame.Frame) (unit.Bytes, bool) {
	op := f.Opcode()
	bytes := unit.Bytes(f.Payload) - unit.Bytes(f.Pad())
	switch {
	case bytes < 1 || m.missing > 0 || beginsSend(op) == m.within():
		return 0, false
	case op == frame.SendLast || op == frame.SendOnly:
		m.missing = 0
	default:
		m.missing = unknown
	}
	return bytes, true
}

// beginsSend reports whether the opcode is that of the first packet of a SEND.
func beginsSend(op frame.Opcode) bool { return op == frame.SendFirst || op == frame.SendOnly }

// takeUnordered returns the payload bytes of a request of UET that is part of its message by its
// own offset and length, or false.
func takeUnordered(f *frame.Frame) (unit.Bytes, bool) {
	length, offset, last := f.UETSpan()
	end := uint64(offset) + uint64(f.Payload)
	return unit.Bytes(f.Payload), f.Payload > 0 && end <= uint64(length) && last == (end == uint64(length))
}

// takeUET adds a request of UET, see takeWrite.
func (m *message) takeUET(f *frame.Frame) (unit.Bytes, bool) {
	length, offset, last := f.UETSpan()
	left, bytes := m.missing, unit.Bytes(f.Payload)
	if offset == 0 && left == 0 {
		left = unit.Bytes(length)
	}
	if bytes == 0 || unit.Bytes(length)-left != unit.Bytes(offset) || bytes > left || last != (bytes == left) {
		return 0, false
	}
	m.missing = left - bytes
	return bytes, true
}
