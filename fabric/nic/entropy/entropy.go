// Package entropy chooses the entropy of each packet of a flow. Switches hash it, so that packets
// with different entropies may take different paths. A Walk takes numbers and instants; package qp
// writes the entropies into packets and passes on what ACKs and timeouts show about them.
//
// The Ultra Ethernet specification leaves the choice to the implementer (§3.6.16). The walks are
// those of its public simulator, ultraethernet/uet-htsim at 40ccb05, file uec_mp.cpp; the comment
// of each gives the lines.
//
//	walk         next entropy                                feedback that it uses
//	oblivious    the next of an order that changes           none
//	bitmap       the same, skipping those with a penalty     ECN, NACK and timeout are penalties
//	reps         the oldest unused one of the last 8 good    good; a timeout freezes them
//	reps-legacy  one per good one, in order of return        good
//	mixed        reps-legacy, or bitmap if there is none     both
package entropy

import (
	"fmt"
	"math/bits"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Value is an entropy, from 0 to one less than the number of entropies.
type Value uint16

// Feedback is what an ACK, a NAK or a timeout shows about the path of an entropy.
type Feedback uint8

// Kinds of feedback. A packet trimmed at the last hop is Good or ECN, by its CE mark: all paths
// share the last hop.
const (
	Good    Feedback = iota // the packet arrived without a mark
	ECN                     // the packet arrived with CE
	NACK                    // the packet was trimmed before the last hop
	Timeout                 // the packet was not acknowledged in time
)

// Smallest and largest number of entropies. A UDP source port in the dynamic range has 14 bits
// of entropy; the largest number, four times that of the pools that UEC recommends, is this
// project's.
const (
	Fewest = 2
	Most   = 1024
)

// Walk chooses the entropies of a flow's packets.
type Walk interface {
	// Next returns the entropy of the next packet. window is the flow's window in packets.
	Next(window int) Value
	// Feedback takes what is known about a packet with entropy v.
	Feedback(now unit.Time, v Value, f Feedback)
	// Counts returns the counts so far.
	Counts() Counts
}

// Counts count the choices of a walk.
type Counts struct {
	Skipped  uint64 // entropies passed over because of a penalty
	Recycled uint64 // packets with an entropy that an ACK returned
	Frozen   uint64 // times that a timeout froze the cache
}

// Add adds the counts of d.
func (c *Counts) Add(d Counts) {
	c.Skipped += d.Skipped
	c.Recycled += d.Recycled
	c.Frozen += d.Frozen
}

// Validate returns an error unless n is a valid number of entropies: a power of two, so that each
// order visits all of them.
func Validate(n int) error {
	if n < Fewest || n > Most || bits.OnesCount(uint(n)) != 1 {
		return fmt.Errorf("%d entropies, want a power of two from %d to %d", n, Fewest, Most)
	}
	return nil
}

// New returns a walk over n entropies, which must be valid; nil for cc.EntropyFlow. The seed
// determines its random choices.
func New(by cc.Entropy, n int, seed uint64) Walk {
	r := newRandom(seed)
	switch by {
	case cc.EntropyOblivious:
		return &oblivious{newOrder(n, r)}
	case cc.EntropyBitmap:
		return newBitmap(newOrder(n, r))
	case cc.EntropyREPS:
		return &reps{n: n, random: r}
	case cc.EntropyREPSLegacy:
		return &repsLegacy{returned: newReturned(), n: n, random: r}
	case cc.EntropyMixed:
		return &mixed{returned: newReturned(), bitmap: newBitmap(newOrder(n, r))}
	default:
		return nil
	}
}
