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
	refusedLimit  = 16 // envelopes in sequence that break a rule before the run ends
	probeFirst    = 2  // ticks until the first probe
	probeLongest  = 16 // ticks between later probes, at most
	keepaliveFrac = 3  // probes within the limit of silence while waiting
)

// LinkConfig describes one link to a Sync.
type LinkConfig struct {
	// Name is for errors, "nic0:0->leaf:0".
	Name string
	// Lookahead is how long at least a frame takes from the start of its
	// transmission to its arrival: propagation and the serialisation of the
	// smallest frame. It is above 0.
	Lookahead unit.Time
}

// Inbox takes the frames that come in on a link, in order of arrival. The frame
// belongs to the caller again when Push returns.
type Inbox interface {
	Push(link int, f *frame.Frame)
}

// Counts is what a Sync has seen and sent so far.
type Counts struct {
	Envelopes    int64 // sent, resends and control included
	Bytes        int64 // of them
	Frames       int64 // sent, each counted once
	Received     int64 // envelopes that came in in sequence
	Control      int64 // bare envelopes among the sent ones
	Resent       int64 // envelopes sent again
	Missed       int64 // times that an envelope was missed and asked for
	Repeated     int64 // envelopes that came in again
	Early        int64 // envelopes that came in before their turn and were left
	Malformed    int64 // messages that are no envelope, or break a rule
	Oversized    int64 // messages above MaxEnvelope
	OtherVersion int64 // envelopes of another version
	Foreign      int64 // envelopes of another run
}

// refuse counts a message by what ParseEnvelope says against it.
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

// Sync is the link protocol of one node: conservative synchronisation over all
// of its links. It tells up to which instant the node may handle events, and
// makes and reads the envelopes. It is pure: no clock, no goroutine, no bus.
// A node's order of calls: Receive for what has come in; Horizon, run, Send
// until Horizon is not above the node's next event; Flush; wait.
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

// need is a peer's want that cannot be answered yet, as the instant that this
// node's bounds must pass for it.
type need struct {
	link int
	pass unit.Time
}

// NewSync makes the protocol's state for a run's start. epoch names the run to
// all of its nodes. No event at or after grant may be handled. A peer that is
// silent for that many ticks while it is waited on ends the run.
func NewSync(epoch uint32, links []LinkConfig, grant unit.Time, silence int) (*Sync, error) {
	s := &Sync{epoch: epoch, grant: grant, nearest: unit.Never, silence: silence}
	for _, c := range links {
		if c.Lookahead <= 0 {
			return nil, fmt.Errorf("link %s: lookahead %s, must be above 0", c.Name, c.Lookahead)
		}
		s.nearest = min(s.nearest, c.Lookahead)
		s.links = append(s.links, link{
			name: c.Name, ahead: c.Lookahead, want: noWant, asked: noWant,
			since: unit.Never, probeWait: probeFirst, gapTick: -1,
		})
	}
	return s, nil
}

// Counts gives what has been counted so far.
func (s *Sync) Counts() Counts { return s.counts }

// Grant moves the instant at and after which no event may be handled. It never
// goes back.
func (s *Sync) Grant(t unit.Time) { s.grant = max(s.grant, t) }

// Granted is the instant at and after which no event may be handled.
func (s *Sync) Granted() unit.Time { return s.grant }

// Bound is the instant before which nothing more comes in on any link.
func (s *Sync) Bound() unit.Time {
	b := unit.Never
	for i := range s.links {
		b = min(b, s.links[i].bound())
	}
	return b
}

// Horizon is the bound to which a node whose next event is at next may run in
// one go: what it sends at next comes back no earlier than two lookaheads later,
// however long the peer's promise is.
func (s *Sync) Horizon(next unit.Time) unit.Time {
	return min(s.Bound(), add(next, add(s.nearest, s.nearest)), s.grant)
}

// Reached tells whether a node whose next event is at next has handled every
// event before the grant that will ever be.
func (s *Sync) Reached(next unit.Time) bool { return next >= s.grant && s.Bound() >= s.grant }

// Send puts a frame on a link. Frames of one link come in order of arrival.
func (s *Sync) Send(i int, f *frame.Frame) {
	l := &s.links[i]
	if l.full() {
		l.seal(s.epoch, s.tick)
	}
	l.put(f)
	s.counts.Frames++
}

// Receive reads a message that came in on link i and pushes its frames into
// inbox. Whatever is no envelope of this run is counted and left. An error means
// that the peer keeps breaking the protocol; it names the link and ends the run.
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
	s.hear(l, &e)
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

// hear takes the control part of any envelope.
func (s *Sync) hear(l *link, e *Envelope) {
	l.heard, l.probeWait = s.tick, probeFirst
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
