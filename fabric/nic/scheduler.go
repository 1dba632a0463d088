package nic

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The scheduler picks the flow that sends next. Flows take turns, one frame each,
// once their pacer's instant has come:
//
//	           wake                admit: its instant has come
//	PARKED ------------> PACING ------------------------> WAITING
//	   ^                  (pace)                           (ready)
//	   +---------------------------------------------------+
//	                       pick: it is its turn
//
// A flow whose class is paused is passed over and keeps its turn.

// readyQueue holds the flows that wait for the link, a lane per traffic class.
//
// Invariant: each lane is in the order of the turns, and has room for every flow; a
// class is in waiting if and only if its lane is not empty.
type readyQueue struct {
	lanes   [fabric.Priorities]fifo[turn]
	classes uint8 // bit per class whose flows have ever had something to send
	waiting uint8 // bit per class with a flow that waits
	flows   int
	next    uint64
}

// turn is a flow and when its turn came.
type turn struct {
	number uint64
	sender int32
}

// grow makes room for so many flows.
func (q *readyQueue) grow(flows int) {
	q.flows = flows
	for set := q.classes; set != 0; set &= set - 1 {
		lane := &q.lanes[bits.TrailingZeros8(set)]
		larger := newFIFO[turn](flows)
		for lane.count > 0 {
			larger.push(lane.pop())
		}
		*lane = larger
	}
}

// open makes the lane of a class, if it is not there.
func (q *readyQueue) open(class fabric.Priority) {
	if q.classes>>class&1 == 0 {
		q.classes |= 1 << class
		q.lanes[class] = newFIFO[turn](q.flows)
	}
}

func (q *readyQueue) push(class fabric.Priority, sender int32) {
	q.lanes[class].push(turn{q.next, sender})
	q.waiting |= 1 << class
	q.next++
}

// pop takes out the flow whose turn came first among the classes that are not held,
// one of which waits.
func (q *readyQueue) pop(held uint8) int {
	class := -1
	for set := q.waiting &^ held; set != 0; set &= set - 1 {
		k := bits.TrailingZeros8(set)
		if class < 0 || q.lanes[k].items[q.lanes[k].head].number < q.lanes[class].items[q.lanes[class].head].number {
			class = k
		}
	}
	lane := &q.lanes[class]
	if lane.count == 1 {
		q.waiting &^= 1 << class
	}
	return int(lane.pop().sender)
}

// wake lets flow i compete again if it has something to send.
func (n *NIC) wake(i int) {
	s := &n.senders[i]
	if s.place == parked && s.pending() && n.funded(i) {
		s.place = pacing
		n.ready.open(s.class)
		n.pace.Set(i, s.pacer.next())
	}
}

// admit queues the flows whose instant has come, in its order.
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

// pick takes out the flow whose turn it is among those of classes that are not
// paused, false if there is none.
func (n *NIC) pick() (int, bool) {
	for n.ready.waiting&^n.pause.held != 0 {
		i := n.ready.pop(n.pause.held)
		n.senders[i].place = parked
		if n.senders[i].pending() && n.funded(i) {
			return i, true
		}
	}
	return 0, false
}

// dataDue gives the instant from which on a flow may send, if the link lets it; 0 if
// one waits already, Never if PAUSE holds all their classes.
func (n *NIC) dataDue() unit.Time {
	switch {
	case n.ready.classes&^n.pause.held == 0:
		return unit.Never
	case n.ready.waiting&^n.pause.held != 0:
		return 0
	}
	_, at := n.pace.First()
	return at
}
