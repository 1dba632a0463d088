package fabric

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Fate is what became of a frame on its link.
type Fate uint8

// Fates.
const (
	Whole   Fate = iota // it came in as it was sent
	CutOff              // the link was down
	Lost                // nothing of it came in
	Damaged             // it came in with a bad frame check sequence
)

var fates = [...]struct {
	name   string
	reason DropReason
}{{"whole", 0}, {"cut-off", DropLinkDown}, {"lost", DropLinkLoss}, {"damaged", DropBadFCS}}

// String names the fate, "damaged".
func (f Fate) String() string {
	if int(f) < len(fates) {
		return fates[f].name
	}
	return fmt.Sprintf("fate(%d)", uint8(f))
}

// Reason gives the reason for the drop of a frame, 0 for a whole one.
func (f Fate) Reason() DropReason { return fates[f].reason }

// Cable is what the receiving end of a link knows of it. The zero value is a link
// without length that has always been whole.
type Cable struct {
	Rate     unit.Rate
	Delay    unit.Time  // propagation
	Overhead unit.Bytes // per frame beyond its length
	Flaws    Flaws      // of the direction to this end
	Down     bool
	since    unit.Time // that it is whole, after it was cut
	counts   [Damaged + 1]uint64
}

// Mend makes the link whole from now on.
func (c *Cable) Mend(now unit.Time) { c.Down, c.since = false, now }

// Fate gives the fate of a frame of that length that arrives now. A frame that was
// on the wire while the link was down, since the start of its transmission, is cut
// off. The rates in force now decide on everything else.
func (c *Cable) Fate(now unit.Time, length unit.Bytes) Fate {
	if !c.Down && c.since == 0 && !c.Flaws.any {
		return Whole
	}
	return c.fate(now, length)
}

func (c *Cable) fate(now unit.Time, length unit.Bytes) Fate {
	if c.Down || c.since > 0 && now-c.Delay-c.Rate.Serialise(length+c.Overhead) < c.since {
		return CutOff
	}
	return c.Flaws.fate(now)
}

// Losses counts the frames that did not come in whole over a link, PFC frames among
// them, since the start of the run.
type Losses struct {
	CutFrames     uint64 // the link was cut
	LostFrames    uint64 // the link lost them
	DamagedFrames uint64 // the link damaged them
}

// Count counts a frame by its fate.
func (c *Cable) Count(f Fate) { c.counts[f]++ }

// Losses gives what Count has counted.
func (c *Cable) Losses() Losses {
	return Losses{CutFrames: c.counts[CutOff], LostFrames: c.counts[Lost], DamagedFrames: c.counts[Damaged]}
}
