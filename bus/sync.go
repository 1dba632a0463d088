package bus

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Limits of the protocol, in counts and ticks (calls of Sync.Tick).
const (
	reportAfter   = 32 // unconfirmed envelopes after which a sender asks for a report
	refusedLimit  = 16 // envelopes in sequence that violate the protocol before the run ends
	probeFirst    = 2  // ticks until the first probe
	probeLongest  = 16 // ticks between later probes, at most
	keepaliveFrac = 3  // probes within the silence limit while waiting
)

// PeerConfig is the configuration of one peer of a Sync: another group, and the links to
// it.
type PeerConfig struct {
	// Name is for errors, "h0->s0".
	Name string
	// Links is the number of links, which both groups number alike.
	Links int
	// Lookahead is the minimum time from the start of a frame's transmission to its
	// arrival on any of the links: propagation and the serialisation of the smallest
	// frame. It must be above 0.
	Lookahead unit.Time
}

// Inbox receives the frames of the links to a peer, those of a link in order of arrival.
type Inbox interface {
	// Frame returns memory for the next frame. Its content is undefined.
	Frame() *frame.Frame
	// Push takes over the frame that Frame returned.
	Push(peer, link int, f *frame.Frame)
}

// Counts are the counters of a Sync.
type Counts struct {
	Envelopes    int64 // sent, resends and control included
	Bytes        int64 // of them
	Frames       int64 // sent, each counted once
	Received     int64 // envelopes received in sequence
	Control      int64 // bare envelopes among the sent ones
	Resent       int64 // envelopes sent again
	Missed       int64 // gaps detected, with a request to resend
	Repeated     int64 // envelopes received again
	Early        int64 // envelopes received before their turn and ignored
	Malformed    int64 // messages that are not an envelope, or that violate a rule
	Oversized    int64 // messages above MaxEnvelope
	OtherVersion int64 // envelopes of another version
	Foreign      int64 // envelopes of another run
}

// refuse counts a message by the error of ParseEnvelope.
func (c *Counts) refuse(err error) {
	switch {
	case errors.Is(err, ErrOversized):
		c.Oversized++
	case errors.Is(err, ErrVersion):
		c.OtherVersion++
	default:
		c.Malformed++
	}
}

// Sync is the link protocol of one group: conservative synchronisation with all of its
// peers. It determines up to which instant the group may handle events, and builds and
// parses the envelopes. It is pure: no clock, no goroutine, no bus. A group calls
// Receive for each incoming message; then Horizon, run and Send until Horizon is not
// above its next event; then Flush; then it waits.
type Sync struct {
	epoch   uint32
	peers   []peer
	nearest unit.Time // the least lookahead
	grant   unit.Time
	tick    int
	silence int // ticks
	counts  Counts
	control [envelopeHead]byte
	pending []need
}

// need is the want of a peer that cannot be answered yet. pass is the instant that this
// group's bounds must pass for the answer.
type need struct {
	peer int
	pass unit.Time
}

// NewSync returns the state of the protocol at the start of a run. epoch identifies the
// run to all of its groups. No event at or after grant may be handled. The run ends if a
// peer is silent for that many ticks while this group waits for it.
func NewSync(epoch uint32, peers []PeerConfig, grant unit.Time, silence int) (*Sync, error) {
	s := &Sync{epoch: epoch, grant: grant, nearest: unit.Never, silence: silence}
	for _, c := range peers {
		if c.Lookahead <= 0 {
			return nil, fmt.Errorf("peer %s: lookahead %s, must be above 0", c.Name, c.Lookahead)
		}
		s.nearest = min(s.nearest, c.Lookahead)
		s.peers = append(s.peers, newPeer(c))
	}
	return s, nil
}

// Counts returns the current counters.
func (s *Sync) Counts() Counts { return s.counts }

// Grant raises the instant at and after which no event may be handled. It never
// lowers it.
func (s *Sync) Grant(t unit.Time) { s.grant = max(s.grant, t) }

// Granted returns the instant at and after which no event may be handled.
func (s *Sync) Granted() unit.Time { return s.grant }

// Bound returns the instant before which nothing more arrives from any peer.
func (s *Sync) Bound() unit.Time {
	b := unit.Never
	for i := range s.peers {
		b = min(b, s.peers[i].bound())
	}
	return b
}

// Horizon returns the bound to which a group whose next event is at next may run at
// once. An effect of that event returns no earlier than two lookaheads later, whatever
// the peer has promised.
func (s *Sync) Horizon(next unit.Time) unit.Time {
	return min(s.Bound(), add(next, add(s.nearest, s.nearest)), s.grant)
}

// Reached reports whether a group whose next event is at next has handled all events
// before the grant, and no more can arrive.
func (s *Sync) Reached(next unit.Time) bool { return next >= s.grant && s.Bound() >= s.grant }

// Waits returns the peer whose promise keeps a group, whose next event is at next, from
// its grant, and for how many ticks no message has come from it. ok is false if no peer
// does: the group has reached its grant, or has events to handle.
func (s *Sync) Waits(next unit.Time) (peer, ticks int, ok bool) {
	bound := s.Bound()
	if bound >= s.grant || next < s.Horizon(next) {
		return 0, 0, false
	}
	for s.peers[peer].bound() != bound {
		peer++
	}
	return peer, s.tick - s.peers[peer].heardTick, true
}

// Send sends a frame to peer i on a link. The frames of a link must be in order of
// arrival.
func (s *Sync) Send(i, link int, f *frame.Frame) {
	p := &s.peers[i]
	if p.full() {
		p.seal(s.epoch, s.tick)
	}
	p.put(link, f)
	s.counts.Frames++
}

// Receive handles a message from peer i and pushes its frames into inbox. It counts and
// ignores messages that are not a valid envelope of this run. An error means that the
// peer repeatedly violates the protocol. It names the peer and ends the run.
func (s *Sync) Receive(i int, data []byte, inbox Inbox) error {
	e, err := ParseEnvelope(data)
	if err != nil {
		s.counts.refuse(err)
		return nil
	}
	if e.Epoch != s.epoch {
		s.counts.Foreign++
		return nil
	}
	p := &s.peers[i]
	if !p.out.confirm(e.Ack) {
		s.counts.Malformed++
		return nil
	}
	s.receiveControl(p, &e)
	switch {
	case e.Flags&flagBare != 0:
		return nil
	case e.Seq <= p.received:
		s.counts.Repeated++
		return nil
	case e.Seq > p.received+1:
		s.counts.Early++
		return nil
	}
	if err := p.accept(&e); err != nil {
		s.counts.Malformed++
		if p.refused++; p.refused > refusedLimit {
			return err
		}
		return nil
	}
	p.refused = 0
	s.counts.Received++
	for range e.Count {
		f := inbox.Frame()
		link, _ := e.Next(f)
		p.last[link] = f.Arrival
		inbox.Push(i, link, f)
	}
	return nil
}

// receiveControl applies the control fields of any envelope.
func (s *Sync) receiveControl(p *peer, e *Envelope) {
	p.heardTick, p.probeWait = s.tick, probeFirst
	missing := e.Seq > p.received
	if e.Flags&flagBare == 0 {
		missing = e.Seq > p.received+1
	}
	if missing && (p.gapAt != p.received || p.gapTick != s.tick) {
		p.gap, p.report = true, true
		p.gapAt, p.gapTick = p.received, s.tick
		s.counts.Missed++
	}
	if e.Flags&flagReport != 0 {
		p.report = true
	}
	if e.Flags&flagGap != 0 {
		s.counts.Resent += int64(p.out.rewind())
	}
}
