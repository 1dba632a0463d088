package nic

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The scheduler picks the flow that sends next. Flows take turns, one frame each, once
// their pacer allows it:
//
//	           wake                admit: its pacer allows it
//	PARKED ------------> PACING ------------------------> WAITING
//	   ^                  (pace)                           (ready)
//	   +---------------------------------------------------+
//	                       pick: it is its turn
//
// The scheduler skips flows of paused classes; they keep their turn.

// readyQueue holds the flows that wait for the link, in one lane per traffic class.
//
// Invariant: each lane is in the order of the turns. A class is in waiting if and only if
// its lane is not empty.
type readyQueue struct {
	lanes   [fabric.Priorities]ring.Ring[turn]
	classes uint8 // bit per class whose flows have ever had something to send
	waiting uint8 // bit per class with a waiting flow
	next    uint64
}

// turn is a flow and its place in the order of turns.
type turn struct {
	number uint64
	sender int32
}

// open records that a flow of the class has something to send.
func (q *readyQueue) open(class fabric.Priority) { q.classes |= 1 << class }

func (q *readyQueue) push(class fabric.Priority, sender int32) {
	*q.lanes[class].Next() = turn{q.next, sender}
	q.waiting |= 1 << class
	q.next++
}

// pop removes and returns the flow with the earliest turn among the classes that are not
// in held. At least one such flow must wait.
func (q *readyQueue) pop(held uint8) int {
	class := -1
	for set := q.waiting &^ held; set != 0; set &= set - 1 {
		k := bits.TrailingZeros8(set)
		if class < 0 || q.lanes[k].Front().number < q.lanes[class].Front().number {
			class = k
		}
	}
	lane := &q.lanes[class]
	if lane.Len() == 1 {
		q.waiting &^= 1 << class
	}
	return int(lane.Pop().sender)
}

// wake moves flow i from parked to pacing if it has something to send.
func (n *NIC) wake(i int) {
	s := &n.senders[i]
	if s.place == parked && s.pending() && s.credit.MaySend() {
		s.place = pacing
		n.ready.open(s.class)
		n.pace.Set(i, s.pacer.next())
	}
}

// admit queues the flows whose pacer allows them to send, in the order of their instants.
func (n *NIC) admit(now unit.Time) {
	for {
		i, at := n.pace.First()
		if at > now {
			return
		}
		n.pace.Set(i, unit.Never)
		s := &n.senders[i]
		s.place = waiting
		n.ready.push(s.class, int32(i))
	}
}

// pick removes and returns the next flow to send, among the flows of classes that are not
// paused. It returns false if there is none.
func (n *NIC) pick() (int, bool) {
	for n.ready.waiting&^n.pauses.Set() != 0 {
		i := n.ready.pop(n.pauses.Set())
		s := &n.senders[i]
		s.place = parked
		if s.pending() && s.credit.MaySend() {
			return i, true
		}
	}
	return 0, false
}

// dataDue returns the earliest instant at which a flow may send if the link is free. It is
// 0 if a flow waits already, and Never if all classes of the flows are paused.
func (n *NIC) dataDue() unit.Time {
	switch {
	case n.ready.classes&^n.pauses.Set() == 0:
		return unit.Never
	case n.ready.waiting&^n.pauses.Set() != 0:
		return 0
	}
	_, at := n.pace.First()
	return at
}
