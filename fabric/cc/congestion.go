package cc

import "github.com/rackfab/rackfab/fabric/unit"

// Degree is how congested a path is, in classes.
type Degree uint8

// Degrees.
const (
	DegreeNone Degree = iota
	DegreeLight
	DegreeMedium
	DegreeHeavy
	degrees
)

// String names the degree, "light".
func (d Degree) String() string {
	return [...]string{"none", "light", "medium", "heavy"}[min(d, DegreeHeavy)]
}

// Item is one of the things that can be known of a congested path.
type Item uint8

// Items, a set.
const (
	ItemDegree Item = 1 << iota
	ItemLocation
	ItemDepth
	ItemDelay
)

// Congestion is what is known of a congested path, beyond that it is congested.
type Congestion struct {
	Known    Item       // the items below that count; 0: nothing
	Degree   Degree     // ItemDegree
	Location int        // ItemLocation: names the port with the deepest queue
	Depth    unit.Bytes // ItemDepth: of the queue there
	Delay    unit.Time  // ItemDelay: from the first switch to the receiver
}

// Words packs what is known into two words, for a note; FromWords reads them. The delay
// is rounded down to nanoseconds.
func (c Congestion) Words() (a, b int64) {
	return int64(c.Known) | int64(c.Degree)<<8 | int64(c.Location)<<16, int64(c.Depth)<<32 | int64(c.Delay/unit.Nanosecond)
}

// FromWords returns what Words has packed.
func FromWords(a, b int64) Congestion {
	return Congestion{
		Known: Item(a), Degree: Degree(a >> 8), Location: int(a >> 16),
		Depth: unit.Bytes(b >> 32), Delay: unit.Time(uint32(b)) * unit.Nanosecond,
	}
}
