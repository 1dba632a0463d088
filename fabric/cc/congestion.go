package cc

import "github.com/rackfab/rackfab/fabric/unit"

// Degree is the class of a path's congestion.
type Degree uint8

// Degrees.
const (
	DegreeNone Degree = iota
	DegreeLight
	DegreeMedium
	DegreeHeavy
	degrees
)

// String returns the name of the degree, "light".
func (d Degree) String() string {
	return [...]string{"none", "light", "medium", "heavy"}[min(d, DegreeHeavy)]
}

// Item is one kind of information about a congested path.
type Item uint8

// Items, a set.
const (
	ItemDegree Item = 1 << iota
	ItemLocation
	ItemDepth
	ItemDelay
)

// Congestion is the information about a congested path, apart from the fact
// that it is congested.
type Congestion struct {
	Known    Item       // the fields below that are valid; 0: no field
	Degree   Degree     // ItemDegree
	Location int        // ItemLocation: number of the port with the deepest queue
	Depth    unit.Bytes // ItemDepth: of that queue
	Delay    unit.Time  // ItemDelay: from the first switch to the receiver
}

// Words packs the information into two words for a note; FromWords unpacks
// them. The delay is rounded down to nanoseconds.
func (c Congestion) Words() (a, b int64) {
	return int64(c.Known) | int64(c.Degree)<<8 | int64(c.Location)<<16, int64(c.Depth)<<32 | int64(c.Delay/unit.Nanosecond)
}

// FromWords returns the Congestion that Words packed.
func FromWords(a, b int64) Congestion {
	return Congestion{
		Known: Item(a), Degree: Degree(a >> 8), Location: int(a >> 16),
		Depth: unit.Bytes(b >> 32), Delay: unit.Time(uint32(b)) * unit.Nanosecond,
	}
}
