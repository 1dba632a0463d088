package bus

import "github.com/rackfab/rackfab/fabric/unit"

// window holds the sequenced envelopes of one direction of a link that the
// receiver has not confirmed, oldest first.
//
// Invariant: kept[0] is number seq-len(kept)+1; kept[:sent] has been handed to
// the bus since the last rewind.
type window struct {
	seq  uint64 // the last number given
	kept []sealed
	sent int
	free [][]byte // memory of confirmed envelopes, for reuse
}

// sealed is a finished envelope and the tick at which it was sealed.
type sealed struct {
	data []byte
	tick int
}

// add keeps data as the next envelope, to be sent.
func (w *window) add(data []byte, tick int) {
	w.seq++
	w.kept = append(w.kept, sealed{data, tick})
}

// confirm frees every envelope up to ack and tells whether ack names one that
// was sealed at all.
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

// rewind marks every unconfirmed envelope to be sent again and gives how many
// have been sent before.
func (w *window) rewind() int {
	n := w.sent
	w.sent = 0
	return n
}

// buffer gives memory for a new envelope, its fixed part included.
func (w *window) buffer() []byte {
	if n := len(w.free); n > 0 {
		b := w.free[n-1]
		w.free = w.free[:n-1]
		return b[:envelopeHead]
	}
	return make([]byte, envelopeHead, 4<<10)
}

// arrivals holds the arrival instants of frames that were sent and not yet
// taken, oldest first.
type arrivals struct {
	at   []unit.Time
	head int
}

func (a *arrivals) len() int { return len(a.at) - a.head }

func (a *arrivals) push(t unit.Time) {
	if a.head > len(a.at)/2 && a.head > 64 {
		a.at = a.at[:copy(a.at, a.at[a.head:])]
		a.head = 0
	}
	a.at = append(a.at, t)
}

// first gives the earliest, Never if there is none.
func (a *arrivals) first() unit.Time {
	if a.len() == 0 {
		return unit.Never
	}
	return a.at[a.head]
}

// drop forgets the n oldest; n is at most len.
func (a *arrivals) drop(n int) { a.head += n }
