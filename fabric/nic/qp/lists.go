package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// receiveSend handles the expected packet of a send.
func (t *target) receiveSend(now unit.Time, f *frame.Frame, out *fabric.Out) {
	r := &t.responder
	op := f.Opcode()
	first := op == frame.SendFirst || op == frame.SendOnly
	last := op == frame.SendLast || op == frame.SendOnly
	bytes := unit.Bytes(f.Payload) - unit.Bytes(f.Pad())
	if first == t.inSend || r.remaining != 0 || bytes < 1 {
		t.engine.Discard(now, f, out)
		return
	}
	if first {
		t.inSend = true
		t.match(now, f, out)
	}
	r.deliver(now, t.Class, f, bytes, out)
	r.expected = frame.NextPSN(r.expected, 1)
	if last {
		t.inSend = false
		r.msn = frame.NextPSN(r.msn, 1)
	}
	if last || f.AckReq() || int(r.unacked) >= r.AckEvery {
		r.ack(now, f, out)
	}
}

// match takes a buffer for the message that f begins, or counts the message as unexpected.
func (t *target) match(now unit.Time, f *frame.Frame, out *fabric.Out) {
	if t.engine.queues.Match() {
		return
	}
	t.engine.stats.Unexpected++
	out.Note(fabric.Note{Event: fabric.Event{Kind: fabric.Unexpected}, At: now, Flow: t.ID, Priority: t.Class, Trace: f.Trace})
}

// memoryWords is the number of words of host memory that atomics can access.
const memoryWords = 1 << 16

// memory is the part of host memory that atomics can access. The rest of host memory is
// not emulated, as payload is not.
type memory struct{ words []uint64 }

// Word returns the word at an index of the host memory that atomics can access.
func (e *Engine) Word(i int) uint64 {
	if e.memory.words == nil {
		return 0
	}
	return e.memory.words[i]
}

// change executes an atomic and returns the previous value of the word. It returns false
// if the address is misaligned or out of range.
func (m *memory) change(op frame.Opcode, a *frame.AtomicETH) (was uint64, ok bool) {
	if a.VA%frame.AtomicLen != 0 || a.VA/frame.AtomicLen >= memoryWords {
		return 0, false
	}
	if m.words == nil {
		m.words = make([]uint64, memoryWords)
	}
	word := &m.words[a.VA/frame.AtomicLen]
	was = *word
	switch {
	case op == frame.FetchAdd:
		*word += a.Swap
	case was == a.Compare:
		*word = a.Swap
	}
	return was, true
}
