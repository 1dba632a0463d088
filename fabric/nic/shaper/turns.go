package shaper

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Turns arbitrates between senders without tokens. They take turns, one frame each, once
// their pacer allows it. Senders of paused classes are skipped and keep their turn.
//
//	           Wait             its instant has come
//	PARKED ------------> PACING --------------------> WAITING
//	   ^                                                 |
//	   +-------------------------------------------------+
//	                    Pick: it is its turn
//
// Invariant: each lane is in the order of the turns. A class is in waiting if and only if
// its lane is not empty.
type Turns struct {
	seats   []seat        // by sender
	pace    agenda.Agenda // by sender: earliest instant of its next frame
	lanes   [classes]ring.Ring[turn]
	used    uint8 // bit per class whose senders have ever had something to send
	waiting uint8 // bit per class with a waiting sender
	next    uint64
}

// classes is the number of traffic classes of a port (IEEE 802.1Q).
const classes = 8

// seat is a sender's state and traffic class.
type seat struct {
	place place
	class uint8
}

// place is the state of a sender.
type place uint8

const (
	parked  place = iota // has nothing that it may send
	pacing               // waits for its pacer
	waiting              // waits for the link
)

// turn is a sender and its place in the order of turns.
type turn struct {
	number uint64
	sender int32
}

// NewTurns returns the arbitration of the given number of senders, all parked.
func NewTurns(senders int) Turns {
	return Turns{seats: make([]seat, senders), pace: agenda.New(senders)}
}

// Grow adds parked senders up to the given number of all. There may be more already.
func (t *Turns) Grow(senders int) {
	t.seats = append(t.seats, make([]seat, max(senders-len(t.seats), 0))...)
	t.pace.Grow(senders)
}

// Parked reports whether the sender waits for nothing.
func (t *Turns) Parked(sender int) bool { return t.seats[sender].place == parked }

// Wait lets a parked sender of the class send from at on.
func (t *Turns) Wait(sender int, class uint8, at unit.Time) {
	t.seats[sender] = seat{pacing, class}
	t.used |= 1 << class
	t.pace.Set(sender, at)
}

// Repace moves the instant of a sender that waits for its pacer.
func (t *Turns) Repace(sender int, at unit.Time) {
	if t.seats[sender].place == pacing {
		t.pace.Set(sender, at)
	}
}

// Pick parks and returns the sender whose turn it is among those of classes that are not
// paused. It returns false if there is none.
func (t *Turns) Pick(now unit.Time, paused uint8) (sender int, ok bool) {
	if t.used&^paused == 0 {
		return 0, false
	}
	t.admit(now)
	if t.waiting&^paused == 0 {
		return 0, false
	}
	sender = t.pop(paused)
	t.seats[sender].place = parked
	return sender, true
}

// Due returns the earliest instant at which Pick returns a sender: 0 if one waits already,
// Never if all classes of the senders are paused.
func (t *Turns) Due(paused uint8) unit.Time {
	switch {
	case t.used&^paused == 0:
		return unit.Never
	case t.waiting&^paused != 0:
		return 0
	}
	return t.pace.Next()
}

// admit queues the senders whose pacer allows them to send, in the order of their instants.
func (t *Turns) admit(now unit.Time) {
	for {
		i, at := t.pace.First()
		if at > now {
			return
		}
		t.pace.Set(i, unit.Never)
		t.seats[i].place = waiting
		t.push(t.seats[i].class, int32(i))
	}
}

func (t *Turns) push(class uint8, sender int32) {
	*t.lanes[class].Next() = turn{t.next, sender}
	t.waiting |= 1 << class
	t.next++
}

// pop removes and returns the sender with the earliest turn among the classes that are not
// paused. At least one such sender must wait.
func (t *Turns) pop(paused uint8) int {
	class := -1
	for set := t.waiting &^ paused; set != 0; set &= set - 1 {
		k := bits.TrailingZeros8(set)
		if class < 0 || t.lanes[k].Front().number < t.lanes[class].Front().number {
			class = k
		}
	}
	lane := &t.lanes[class]
	if lane.Len() == 1 {
		t.waiting &^= 1 << class
	}
	return int(lane.Pop().sender)
}
