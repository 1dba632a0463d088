package bus

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// link is a node's view of one link, both directions.
type link struct {
	name  string    // "nic0:0->leaf:0", for errors
	ahead unit.Time // lookahead: propagation + serialisation of the smallest frame

	// Received.
	received uint64    // the last envelope in sequence
	taken    uint64    // frames of the peer that this node has received
	last     unit.Time // arrival of the last of them
	promise  unit.Time // the peer's
	want     unit.Time // the peer's, noWant if it waits for nothing
	refused  int       // invalid envelopes in sequence since the last valid one

	// Sent.
	out     window
	untaken ring.Ring[unit.Time] // arrivals of this node's frames that the peer has not yet taken
	took    uint64               // frames of this node that the peer has taken
	open    []byte               // the envelope being filled; nil if no frame waits
	count   uint32               // frames in open
	tail    unit.Time

	// Last sent to the peer.
	lastPromise unit.Time // promise
	lastTaken   uint64    // taken
	since       unit.Time // arrival of the earliest frame taken after lastTaken, else Never
	lastWant    unit.Time // want

	// Control.
	report    bool // a report of the received envelopes is due
	gap       bool // the report must ask for a resend
	gapAt     uint64
	gapTick   int
	heardTick int // tick of the last message from the peer
	probeTick int // tick of the last probe
	probeWait int // ticks until the next one
}

// add adds span to t and saturates at Never.
func add(t, span unit.Time) unit.Time {
	if t > unit.Never-span {
		return unit.Never
	}
	return t + span
}

// untakenFirst returns the arrival of the first frame that the peer has not yet taken,
// Never if there is none.
func (l *link) untakenFirst() unit.Time {
	if l.untaken.Len() == 0 {
		return unit.Never
	}
	return *l.untaken.Front()
}

// bound returns the instant before which nothing more arrives on the link.
func (l *link) bound() unit.Time { return add(min(l.promise, l.untakenFirst()), l.ahead) }

// peerBound returns the peer's bound, according to the last envelope sent to it.
func (l *link) peerBound() unit.Time { return add(min(l.lastPromise, l.since), l.ahead) }

// unanswered reports whether the peer, given the frames sent to it, has yet to answer the
// last want sent.
func (l *link) unanswered() bool {
	reply := l.promise
	if l.untaken.Len() > l.waiting() {
		reply = min(reply, l.untakenFirst())
	}
	return l.lastWant != noWant && add(reply, l.ahead) <= l.lastWant
}

// waiting returns the number of frames in the open envelope.
func (l *link) waiting() int {
	if l.open == nil {
		return 0
	}
	return int(l.count)
}

// peerWaits reports whether the peer still waits for an answer.
func (l *link) peerWaits() bool { return l.want != noWant && l.peerBound() <= l.want }

// answers reports whether promise satisfies the peer's want.
func (l *link) answers(promise unit.Time) bool { return add(promise, l.ahead) > l.want }

// put adds a frame to the open envelope.
func (l *link) put(f *frame.Frame) {
	if l.open == nil {
		l.open = l.out.buffer()
		l.count, l.tail = 0, 0
	}
	l.open = appendFrame(l.open, l.tail, f)
	l.count++
	l.tail = f.Arrival
	l.untaken.Push(f.Arrival)
}

// full reports whether the open envelope may have no room for another frame.
func (l *link) full() bool { return len(l.open) > MaxEnvelope-maxFrameBytes }

// seal completes the open envelope, with the state last sent to the peer, and queues
// it for sending.
func (l *link) seal(epoch uint32, tick int) {
	if l.open == nil {
		l.open, l.count = l.out.buffer(), 0
	}
	e := Envelope{
		Epoch: epoch, Seq: l.out.seq + 1, Ack: l.received,
		Taken: l.lastTaken, Promise: l.lastPromise, Want: l.lastWant, Count: l.count,
	}
	if len(l.out.kept) >= reportAfter {
		e.Flags |= flagReport
	}
	e.putHead(l.open)
	l.out.add(l.open, tick)
	l.open = nil
	l.report = l.gap
}

// announce seals the open envelope with a new promise and a new want.
func (l *link) announce(promise, want unit.Time, epoch uint32, tick int) {
	l.lastPromise, l.lastTaken, l.since, l.lastWant = promise, l.taken, unit.Never, want
	l.seal(epoch, tick)
}

// bare writes a control envelope into b.
func (l *link) bare(b []byte, flags uint8, epoch uint32) {
	e := Envelope{Flags: flags | flagBare, Epoch: epoch, Seq: l.out.seq, Ack: l.received, Want: noWant}
	e.putHead(b)
}

// accept applies the next envelope in sequence, except its frames. The error names the
// violated rule of the protocol; the link is then unchanged.
func (l *link) accept(e *Envelope) error {
	switch {
	case e.Taken < l.took || e.Taken-l.took > uint64(l.untaken.Len()):
		return fmt.Errorf("link %s: peer reports %d frames taken, want at most %d", l.name, e.Taken, l.took+uint64(l.untaken.Len()))
	case e.Count > 0 && e.first() < max(l.bound(), l.last):
		return fmt.Errorf("link %s: frame arrives at %s, want the promised %s or later", l.name, e.first(), max(l.bound(), l.last))
	}
	l.received++
	l.untaken.Drop(int(e.Taken - l.took))
	l.took, l.promise, l.want = e.Taken, e.Promise, e.Want
	if e.Count > 0 {
		l.since = min(l.since, e.first())
	}
	l.taken += uint64(e.Count)
	return nil
}
