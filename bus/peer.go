package bus

import (
	"encoding/binary"
	"fmt"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// peer is a group's view of the links that it shares with one other group, both
// directions.
type peer struct {
	name  string    // "h0->s0", for errors
	ahead unit.Time // lookahead: the least of its links

	// Received.
	received uint64      // the last envelope in sequence
	taken    uint64      // frames of the peer that this group has received
	last     []unit.Time // arrival of the last of them, by link
	promise  unit.Time   // the peer's
	want     unit.Time   // the peer's, noWant if it waits for nothing
	refused  int         // invalid envelopes in sequence since the last valid one

	// Sent.
	out     window
	open    open               // the envelope being filled
	untaken ring.Ring[untaken] // sealed envelopes with frames that the peer has not yet taken
	took    uint64             // frames of this group that the peer has taken
	sent    uint64             // frames of this group in sealed envelopes

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

// open is the content of an envelope that is not yet sealed.
type open struct {
	links    []encoded // by link
	size     int       // bytes of all sections with their heads, at most
	count    uint32    // frames
	earliest unit.Time // of their arrivals; Never without frames
}

// encoded holds the encoded frames of one link.
type encoded struct {
	frames []byte
	tail   unit.Time // arrival of the last
}

// untaken is a sealed envelope with frames.
type untaken struct {
	upTo     uint64    // frames sent, up to its last one
	earliest unit.Time // arrival of any frame in it, or in a later one
}

// newPeer returns the state at the start of a run.
func newPeer(c PeerConfig) peer {
	return peer{
		name: c.Name, ahead: c.Lookahead, want: noWant, lastWant: noWant, since: unit.Never, probeWait: probeFirst, gapTick: -1,
		last: make([]unit.Time, c.Links), open: open{links: make([]encoded, c.Links), earliest: unit.Never},
	}
}

// add adds span to t and saturates at Never.
func add(t, span unit.Time) unit.Time {
	if t > unit.Never-span {
		return unit.Never
	}
	return t + span
}

// sealedFirst returns the arrival of the earliest frame in sealed envelopes that the
// peer has not yet taken, Never if there is none.
func (p *peer) sealedFirst() unit.Time {
	if p.untaken.Len() == 0 {
		return unit.Never
	}
	return p.untaken.Front().earliest
}

// bound returns the instant before which nothing more arrives from the peer.
func (p *peer) bound() unit.Time {
	return add(min(p.promise, p.sealedFirst(), p.open.earliest), p.ahead)
}

// peerBound returns the peer's bound, according to the last envelope sent to it.
func (p *peer) peerBound() unit.Time { return add(min(p.lastPromise, p.since), p.ahead) }

// unanswered reports whether the peer, given the frames sent to it, has yet to answer the
// last want sent.
func (p *peer) unanswered() bool {
	return p.lastWant != noWant && add(min(p.promise, p.sealedFirst()), p.ahead) <= p.lastWant
}

// misses reports whether an envelope of the peer is missing that was asked for.
func (p *peer) misses() bool { return p.gapTick >= 0 && p.gapAt == p.received }

// peerWaits reports whether the peer still waits for an answer.
func (p *peer) peerWaits() bool { return p.want != noWant && p.peerBound() <= p.want }

// answers reports whether promise satisfies the peer's want.
func (p *peer) answers(promise unit.Time) bool { return add(promise, p.ahead) > p.want }

// put adds a frame on a link to the open envelope.
func (p *peer) put(link int, f *frame.Frame) {
	o := &p.open
	s := &o.links[link]
	if len(s.frames) == 0 {
		s.tail = 0
		o.size += maxSectionHead
	}
	before := len(s.frames)
	s.frames = appendFrame(s.frames, s.tail, f)
	s.tail = f.Arrival
	o.size += len(s.frames) - before
	o.count++
	o.earliest = min(o.earliest, f.Arrival)
}

// full reports whether the open envelope may have no room for another frame.
func (p *peer) full() bool {
	return envelopeHead+p.open.size > MaxEnvelope-maxSectionHead-maxFrameBytes
}

// flush appends the sections of the open envelope to b, and empties it.
func (o *open) flush(b []byte) []byte {
	if o.count == 0 {
		return b
	}
	for i := range o.links {
		if s := &o.links[i]; len(s.frames) > 0 {
			b = binary.AppendUvarint(b, uint64(i))
			b = binary.AppendUvarint(b, uint64(len(s.frames)))
			b = append(b, s.frames...)
			s.frames = s.frames[:0]
		}
	}
	o.size, o.count, o.earliest = 0, 0, unit.Never
	return b
}

// seal completes the open envelope, with the state last sent to the peer, and queues
// it for sending.
func (p *peer) seal(epoch uint32, tick int) {
	e := Envelope{
		Epoch: epoch, Seq: p.out.seq + 1, Ack: p.received,
		Taken: p.lastTaken, Promise: p.lastPromise, Want: p.lastWant, Count: p.open.count,
	}
	if len(p.out.kept) >= reportAfter {
		e.Flags |= flagReport
	}
	if e.Count > 0 {
		p.sent += uint64(e.Count)
		p.remember(untaken{p.sent, p.open.earliest})
	}
	b := p.open.flush(p.out.buffer())
	e.putHead(b)
	p.out.add(b, tick)
	p.report = p.gap
}

// remember adds a sealed envelope. Frames of different links are in no common order, so
// an earlier envelope may have only later arrivals: its entry takes over the earliest of
// those after it.
func (p *peer) remember(u untaken) {
	for i := p.untaken.Len() - 1; i >= 0; i-- {
		before := p.untaken.At(i)
		if before.earliest <= u.earliest {
			break
		}
		before.earliest = u.earliest
	}
	p.untaken.Push(u)
}

// forget drops the envelopes whose frames the peer has taken.
func (p *peer) forget(taken uint64) {
	p.took = taken
	for p.untaken.Len() > 0 && p.untaken.Front().upTo <= taken {
		p.untaken.Drop(1)
	}
}

// announce seals the open envelope with a new promise and a new want.
func (p *peer) announce(promise, want unit.Time, epoch uint32, tick int) {
	p.lastPromise, p.lastTaken, p.since, p.lastWant = promise, p.taken, unit.Never, want
	p.seal(epoch, tick)
}

// bare writes a control envelope into b.
func (p *peer) bare(b []byte, flags uint8, epoch uint32) {
	e := Envelope{Flags: flags | flagBare, Epoch: epoch, Seq: p.out.seq, Ack: p.received, Want: noWant}
	e.putHead(b)
}

// accept applies the next envelope in sequence, except its frames. The error names the
// violated rule of the protocol; the peer is then unchanged.
func (p *peer) accept(e *Envelope) error {
	if e.Taken < p.took || e.Taken > p.sent {
		return fmt.Errorf("peer %s: reports %d frames taken, want at most %d", p.name, e.Taken, p.sent)
	}
	bound, earliest := p.bound(), unit.Never
	for link, first := range e.sections() {
		if int(link) >= len(p.last) {
			return fmt.Errorf("peer %s: frame on link %d, want at most %d", p.name, link, len(p.last)-1)
		}
		if least := max(bound, p.last[link]); first < least {
			return fmt.Errorf("peer %s: frame arrives at %s, want the promised %s or later", p.name, first, least)
		}
		earliest = min(earliest, first)
	}
	p.received++
	p.forget(e.Taken)
	p.promise, p.want = e.Promise, e.Want
	p.since = min(p.since, earliest)
	p.taken += uint64(e.Count)
	return nil
}
