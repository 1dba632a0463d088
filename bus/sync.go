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

// LinkConfig is the configuration of one link of a Sync.
type LinkConfig struct {
	// Name is for errors, "nic0:0->leaf:0".
	Name string
	// Lookahead is the minimum time from the start of a frame's transmission to its
	// arrival: propagation and the serialisation of the smallest frame. It must be
	// above 0.
	Lookahead unit.Time
}

// Inbox receives the frames of a link, in order of arrival. The frame belongs to the
// caller again when Push returns.
type Inbox interface {
	Push(link int, f *frame.Frame)
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

// Sync is the link protocol of one node: conservative synchronisation over all of its
// links. It determines up to which instant the node may handle events, and builds and
// parses the envelopes. It is pure: no clock, no goroutine, no bus. A node calls
// Receive for each incoming message; then Horizon, run and Send until Horizon is not
// above the node's next event; then Flush; then it waits.
type Sync struct {
	epoch   uint32
	links   []link
	nearest unit.Time // the least lookahead
	grant   unit.Time
	tick    int
	silence int // ticks
	counts  Counts
	spare   frame.Frame
	control [envelopeHead]byte
	pending []need
}

// need is a peer's want that cannot be answered yet. pass is the instant that this
// node's bounds must pass for the answer.
type need struct {
	link int
	pass unit.Time
}

// NewSync returns the state of the protocol at the start of a run. epoch identifies the
// run to all of its nodes. No event at or after grant may be handled. The run ends if a
// peer is silent for that many ticks while this node waits for it.
func NewSync(epoch uint32, links []LinkConfig, grant unit.Time, silence int) (*Sync, error) {
	s := &Sync{epoch: epoch, grant: grant, nearest: unit.Never, silence: silence}
	for _, c := range links {
		if c.Lookahead <= 0 {
			return nil, fmt.Errorf("link %s: lookahead %s, must be above 0", c.Name, c.Lookahead)
		}
		s.nearest = min(s.nearest, c.Lookahead)
		s.links = append(s.links, link{
			name: c.Name, ahead: c.Lookahead, want: noWant, lastWant: noWant,
			since: unit.Never, probeWait: probeFirst, gapTick: -1,
		})
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

// Bound returns the instant before which nothing more arrives on any link.
func (s *Sync) Bound() unit.Time {
	b := unit.Never
	for i := range s.links {
		b = min(b, s.links[i].bound())
	}
	return b
}

// Horizon returns the bound to which a node whose next event is at next may run at
// once. An effect of that event returns no earlier than two lookaheads later, whatever
// the peer has promised.
func (s *Sync) Horizon(next unit.Time) unit.Time {
	return min(s.Bound(), add(next, add(s.nearest, s.nearest)), s.grant)
}

// Reached reports whether a node whose next event is at next has handled all events
// before the grant, and no more can arrive.
func (s *Sync) Reached(next unit.Time) bool { return next >= s.grant && s.Bound() >= s.grant }

// Send sends a frame on a link. The frames of a link must be in order of arrival.
func (s *Sync) Send(i int, f *frame.Frame) {
	l := &s.links[i]
	if l.full() {
		l.seal(s.epoch, s.tick)
	}
	l.put(f)
	s.counts.Frames++
}

// Receive handles a message that arrived on link i and pushes its frames into inbox. It
// counts and ignores messages that are not a valid envelope of this run. An error
// means that the peer repeatedly violates the protocol. It names the link and ends the
// run.
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
	l := &s.links[i]
	if !l.out.confirm(e.Ack) {
		s.counts.Malformed++
		return nil
	}
	s.receiveControl(l, &e)
	switch {
	case e.Flags&flagBare != 0:
		return nil
	case e.Seq <= l.received:
		s.counts.Repeated++
		return nil
	case e.Seq > l.received+1:
		s.counts.Early++
		return nil
	}
	if err := l.accept(&e); err != nil {
		s.counts.Malformed++
		if l.refused++; l.refused > refusedLimit {
			return err
		}
		return nil
	}
	l.refused = 0
	s.counts.Received++
	for e.Next(&s.spare) {
		inbox.Push(i, &s.spare)
	}
	if e.Count > 0 {
		l.last = s.spare.Arrival
	}
	return nil
}

// receiveControl applies the control fields of any envelope.
func (s *Sync) receiveControl(l *link, e *Envelope) {
	l.heardTick, l.probeWait = s.tick, probeFirst
	missing := e.Seq > l.received
	if e.Flags&flagBare == 0 {
		missing = e.Seq > l.received+1
	}
	if missing && (l.gapAt != l.received || l.gapTick != s.tick) {
		l.gap, l.report = true, true
		l.gapAt, l.gapTick = l.received, s.tick
		s.counts.Missed++
	}
	if e.Flags&flagReport != 0 {
		l.report = true
	}
	if e.Flags&flagGap != 0 {
		s.counts.Resent += int64(l.out.rewind())
	}
}
