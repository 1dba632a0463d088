package fabric

import (
	"math"

	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Flaws are the error rates of one direction of a link. The fate of a frame is a
// hash of the direction and of the frame's arrival instant. No two frames of a
// direction arrive at the same instant. The hash therefore draws once per frame,
// and no draw depends on another. The zero value has no errors.
type Flaws struct {
	stream        uint64
	loss, corrupt uint64 // in parts of 2^shareBits
	any           bool   // one of the rates is above 0
}

// shareBits leaves room for a rate of 1 in 64 bits.
const shareBits = 63

// NewFlaws returns the error rates of one direction of a link. link is the index of
// the link in the scenario. back selects the direction from the link's second end to
// its first. loss and corrupt are probabilities per frame, from 0 to 1.
func NewFlaws(seed uint64, link int, back bool, loss, corrupt float64) Flaws {
	direction := 2 * uint64(link)
	if back {
		direction++
	}
	f := Flaws{stream: splitmix.Mix(splitmix.Mix(seed) + direction)}
	f.Set(KeyLoss, loss)
	f.Set(KeyCorrupt, corrupt)
	return f
}

// Set sets the rate of KeyLoss or KeyCorrupt. It reports whether key is one of the
// two and rate is between 0 and 1.
func (f *Flaws) Set(key Key, rate float64) bool {
	if !(rate >= 0 && rate <= 1) { // false for NaN too
		return false
	}
	share := uint64(math.Ldexp(rate, shareBits))
	switch key {
	case KeyLoss:
		f.loss = share
	case KeyCorrupt:
		f.corrupt = share
	default:
		return false
	}
	f.any = f.loss|f.corrupt > 0
	return true
}

// fate draws for loss first, then for corruption, from separate hashes. Changing one
// rate thus leaves the draws of the other unchanged.
func (f *Flaws) fate(now unit.Time) Fate {
	switch at := 2 * uint64(now); {
	case f.hits(at, f.loss):
		return Lost
	case f.hits(at+1, f.corrupt):
		return Damaged
	}
	return Whole
}

func (f *Flaws) hits(draw, share uint64) bool {
	return share > 0 && splitmix.Mix(f.stream^draw)>>(64-shareBits) < share
}
