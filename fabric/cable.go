package fabric

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Fate is the outcome of a frame's transfer over a link.
type Fate uint8

// Fates.
const (
	Whole   Fate = iota // received as it was sent
	CutOff              // dropped because the link was down
	Lost                // lost on the link, nothing received
	Damaged             // received with a bad frame check sequence
)

var fates = [...]struct {
	name   string
	reason DropReason
}{{"whole", 0}, {"cut-off", DropLinkDown}, {"lost", DropLinkLoss}, {"damaged", DropBadFCS}}

// String returns the name of the fate, such as "damaged".
func (f Fate) String() string {
	if int(f) < len(fates) {
		return fates[f].name
	}
	return fmt.Sprintf("fate(%d)", uint8(f))
}

// Reason returns the drop reason of the fate, 0 for Whole.
func (f Fate) Reason() DropReason { return fates[f].reason }

// Cable is the state of a link at its receiving end. The zero value is a link
// without length that was never down.
type Cable struct {
	Rate     unit.Rate
	Delay    unit.Time  // propagation
	Overhead unit.Bytes // per frame beyond its length
	Flaws    Flaws      // of the direction towards this end
	Down     bool
	since    unit.Time // when the link came up after it was down
	counts   [Damaged + 1]uint64
}

// Mend brings the link up at now.
func (c *Cable) Mend(now unit.Time) { c.Down, c.since = false, now }

// Clear reports whether the fate of every frame is Whole: the link was never down, and has no
// flaws.
func (c *Cable) Clear() bool { return !c.Down && c.since == 0 && !c.Flaws.any }

// Fate returns the fate of a frame that arrives now. A frame is cut off if the link was
// down at any time since the start of its transmission. The current error rates decide
// whether any other frame is lost or damaged.
func (c *Cable) Fate(now unit.Time, f *frame.Frame) Fate {
	if c.Clear() {
		return Whole
	}
	return c.fate(now, f)
}

func (c *Cable) fate(now unit.Time, f *frame.Frame) Fate {
	if c.Down || c.since > 0 && now-c.Delay-c.Rate.Serialise(f.Len()+c.Overhead) < c.since {
		return CutOff
	}
	return c.Flaws.fate(now)
}

// Losses counts the frames, PFC frames included, that a link did not deliver whole
// since the start of the run.
type Losses struct {
	CutFrames     uint64 // the link was down
	LostFrames    uint64 // lost by the link
	DamagedFrames uint64 // damaged by the link
}

// Count counts a frame by its fate.
func (c *Cable) Count(f Fate) { c.counts[f]++ }

// Losses returns the frames that Count has counted.
func (c *Cable) Losses() Losses {
	return Losses{CutFrames: c.counts[CutOff], LostFrames: c.counts[Lost], DamagedFrames: c.counts[Damaged]}
}
