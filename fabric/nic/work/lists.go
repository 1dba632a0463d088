package work

// Lists is list processing (LPE) at the target: its command queue, the buffers that the host
// has appended for future messages, and the messages that arrived before their buffer.
type Lists struct {
	commands   Queue[Target]
	buffers    int // appended and not matched
	unexpected int // arrived without a buffer and not matched since
}

// Searched is the result of a command of the target.
type Searched struct {
	ID      uint32
	Refused bool // the command queue was full
	Found   bool // a message had arrived before
}

// Buffers returns the number of buffers that were appended and not matched.
func (l *Lists) Buffers() int { return l.buffers }

// execute executes a command that the host writes. The target's scheduler is independent of
// the initiator's, and idle.
func (l *Lists) execute(c Target) Searched {
	if !l.commands.Put(c) {
		return Searched{ID: c.ID, Refused: true}
	}
	c = l.commands.Take()
	found := l.unexpected > 0
	switch {
	case c.Verb == Append && found:
		l.unexpected--
	case c.Verb == Append:
		l.buffers++
	}
	return Searched{ID: c.ID, Found: found}
}

// Match takes a buffer for a new message and reports whether there was one.
func (l *Lists) Match() bool {
	if l.buffers == 0 {
		l.unexpected++
		return false
	}
	l.buffers--
	return true
}
