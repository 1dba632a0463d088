package switching

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// classSet is a set of traffic classes, bit n for class n, as in the
// class-enable vector of a PFC frame.
type classSet uint8

// drr picks the class that sends next: the highest strict class first, then deficit
// round robin over the weighted ones (Shreedhar and Varghese, SIGCOMM 1995, §3).
// Deficits are exact to the byte. A class that is empty or paused leaves the round
// and loses its deficit.
//
// Invariant: 0 <= deficit < quantum + largest frame; quantum >= largest frame.
// A class therefore sends at least one frame in each of its turns.
type drr struct {
	strict  classSet
	turn    fabric.Priority // the class whose turn it is
	granted bool            // the class has received the quantum of this turn
	quantum [fabric.Priorities]unit.Bytes
	deficit [fabric.Priorities]unit.Bytes
}

// newDRR sets the quantum of each class to weight * mtu. Weight 0 is strict.
func newDRR(weights *[fabric.Priorities]int, mtu unit.Bytes) drr {
	var d drr
	for class, w := range weights {
		if w == 0 {
			d.strict |= 1 << class
		}
		d.quantum[class] = unit.Bytes(w) * mtu
	}
	return d
}

// pick selects one of the classes in ready, which must not be empty, and charges it
// for the first frame of its queue.
func (d *drr) pick(ready classSet, queues *[fabric.Priorities]queue) fabric.Priority {
	if strict := ready & d.strict; strict != 0 {
		return fabric.Priority(bits.Len8(uint8(strict)) - 1)
	}
	for {
		if ready&(1<<d.turn) != 0 {
			if !d.granted {
				d.deficit[d.turn] += d.quantum[d.turn]
				d.granted = true
			}
			if length := queues[d.turn].front().length; length <= d.deficit[d.turn] {
				d.deficit[d.turn] -= length
				return d.turn
			}
		}
		d.pass(ready)
	}
}

// pass moves the turn to the next class in ready, in cyclic order.
func (d *drr) pass(ready classSet) {
	first := int(d.turn) + 1
	ahead := bits.RotateLeft8(uint8(ready), -first)
	d.turn = fabric.Priority((first + bits.TrailingZeros8(ahead)) % fabric.Priorities)
	d.granted = false
}

// leave removes an empty or paused class from the round.
func (d *drr) leave(class fabric.Priority) { d.deficit[class] = 0 }
