package qp

import "github.com/rackfab/rackfab/fabric/frame"

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
