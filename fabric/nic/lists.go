package nic

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/unit"
)

// lists is list processing (LPE): the buffers that the host has appended for
// messages to come, and the messages that came before their buffer.
type lists struct {
	buffers    int // appended and not matched
	unexpected int // came without a buffer, and were not matched since
}

// PostTarget is the host writing a command of the target. One that finds the queue
// full is refused and noted (CommandRefused).
func (n *NIC) PostTarget(now unit.Time, c command.Target, out *fabric.Out) {
	n.now = now
	if n.engine == nil || !n.engine.appends.Put(c) {
		n.refuse(now, fabric.CommandRefused, fabric.NoFlow, c.ID, out)
		return
	}
	n.listDue(now, out)
}

// listDue works off the commands of the target: its scheduler serves them in
// order, apart from those of the initiator.
func (n *NIC) listDue(now unit.Time, out *fabric.Out) {
	e := n.engine
	for e.appends.Len() > 0 {
		c := e.appends.Take()
		found := e.lists.unexpected > 0
		switch {
		case c.Verb == command.Append && found:
			e.lists.unexpected--
		case c.Verb == command.Append:
			e.lists.buffers++
		}
		note := fabric.Note{Kind: fabric.ListSearched, At: now, Flow: fabric.NoFlow, A: int64(c.ID)}
		if found {
			note.B = 1
		}
		out.Note(note)
	}
}

// match finds a buffer for a message that begins.
func (l *lists) match() bool {
	if l.buffers == 0 {
		l.unexpected++
		return false
	}
	l.buffers--
	return true
}

// receiveSend takes the expected packet of a send.
func (n *NIC) receiveSend(now unit.Time, t *target, f *frame.Frame, out *fabric.Out) {
	r := &n.receivers[t.receiver]
	op := f.Opcode()
	first := op == frame.SendFirst || op == frame.SendOnly
	last := op == frame.SendLast || op == frame.SendOnly
	bytes := unit.Bytes(f.Payload) - unit.Bytes(f.Pad())
	if first == t.inSend || r.remaining != 0 || bytes < 1 {
		n.malformed(now, f, out)
		return
	}
	if first {
		t.inSend = true
		if !n.engine.lists.match() {
			n.engine.stats.Unexpected++
			out.Note(fabric.Note{Kind: fabric.Unexpected, At: now, Flow: t.ID, Priority: t.Class, Trace: f.Trace})
		}
	}
	n.deliver(now, r, t.Class, f, bytes, out)
	r.expected = frame.NextPSN(r.expected, 1)
	if last {
		t.inSend = false
		r.msn = frame.NextPSN(r.msn, 1)
	}
	if last || f.AckReq() || r.unacked >= n.cfg.AckEvery {
		n.ack(now, t.receiver, f, out)
	}
}

// memoryWords is how many words of the host's memory atomics may change.
const memoryWords = 1 << 16

// memory is the words that atomics work on; others are not kept, as payload is
// not.
type memory struct{ words []uint64 }

// change does an atomic and gives what the word held. It is false if the address
// is no word of the memory.
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
