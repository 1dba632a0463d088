package bus

// window holds the sequenced envelopes that one peer has not confirmed, oldest first.
//
// Invariant: kept[0] has number seq-len(kept)+1; kept[:sent] has been passed to the bus
// since the last rewind.
type window struct {
	seq  uint64 // the last number assigned
	kept []sealed
	sent int
	free [][]byte // buffers of confirmed envelopes, for reuse
}

// sealed is a complete envelope and the tick at which it was sealed.
type sealed struct {
	data []byte
	tick int
}

// add appends data as the next envelope to send.
func (w *window) add(data []byte, tick int) {
	w.seq++
	w.kept = append(w.kept, sealed{data, tick})
}

// confirm frees every envelope up to ack. It reports whether ack is the number of a
// sealed envelope.
func (w *window) confirm(ack uint64) bool {
	if ack > w.seq {
		return false
	}
	first := w.seq - uint64(len(w.kept)) + 1
	if ack < first {
		return true
	}
	n := int(ack - first + 1)
	for i := range n {
		w.free = append(w.free, w.kept[i].data)
	}
	w.kept = w.kept[:copy(w.kept, w.kept[n:])]
	w.sent = max(w.sent-n, 0)
	return true
}

// rewind marks all unconfirmed envelopes to be sent again. It returns how many of them
// had been sent.
func (w *window) rewind() int {
	n := w.sent
	w.sent = 0
	return n
}

// buffer returns memory for a new envelope, with the length of the fixed header.
func (w *window) buffer() []byte {
	if n := len(w.free); n > 0 {
		b := w.free[n-1]
		w.free = w.free[:n-1]
		return b[:envelopeHead]
	}
	return make([]byte, envelopeHead, 4<<10)
}
