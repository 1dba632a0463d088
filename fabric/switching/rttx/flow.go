package rttx

import "github.com/rackfab/rackfab/fabric/unit"

// flow is the state of one flow ([0046]).
//
// Invariant: marked <= packets < window; level <= N.
type flow struct {
	counters
	key        FlowKey
	fields     Fields
	seen       unit.Time // when a forward packet of it last came in or left
	waiting    int       // its forward packets in the switch
	at         int32     // its own index
	prev, next int32     // in the order of seen
}

// counters are what a data plane keeps of a flow beside its key ([0066]). The
// level is also the index of the increment.
type counters struct {
	packets uint8 // P, of the window that runs
	marked  uint8 // P_e
	level   uint8 // Cong_Level
}

// State is how congested a flow is ([0046]).
type State uint8

// States.
const (
	NotCongested State = iota
	Slight
	Severe
	states int = iota
)

func (s State) String() string { return [states]string{"not congested", "slight", "severe"}[s] }

// StateOf gives the state that a level of 0 to levels stands for: the lower half
// of the levels above 0 is slight. Of five levels, 1 and 2 are slight, 3 and 4
// severe.
func StateOf(level, levels int) State {
	switch {
	case level == 0:
		return NotCongested
	case 2*level <= levels:
		return Slight
	}
	return Severe
}

// congested is cong_flag ([0007]).
func (c *counters) congested() bool { return c.level > 0 }

// count takes a forward packet ([0047]) and brings the level up to date, by the
// law that goes with the way.
func (c *counters) count(event bool, p *Params) {
	c.packets++
	if event {
		c.marked++
	}
	if p.Way != WayTable {
		c.step(event, p.Levels)
	}
	if int(c.packets) < p.Window {
		return
	}
	if p.Way == WayTable {
		c.level = grade(c.marked, c.packets)
	}
	c.packets, c.marked = 0, 0 // [0066]
}

// step is the law of ways 1 to 3 ([0059]): an event raises the level by one, to N
// at most; a packet without lowers it, to 0 at least. By the letter only a level
// that is above 0 already would rise, and none ever would.
func (c *counters) step(event bool, levels int) {
	switch {
	case event && int(c.level) < levels:
		c.level++
	case !event && c.level > 0:
		c.level--
	}
}

// grade is table 1 ([0063]): how many of the thresholds 0.2, 0.4, 0.6 and 0.8 the
// share marked/packets has reached, without a division. With 8 packets it is the
// integer table of [0064].
func grade(marked, packets uint8) (level uint8) {
	for level < TableLevels && 5*int(marked) >= int(level+1)*int(packets) {
		level++
	}
	return level
}

// silent reports whether no packet of the flow is in the switch, nor has been for so long.
func (f *flow) silent(now, limit unit.Time) bool { return f.waiting == 0 && now-f.seen >= limit }

// age forgets what is known of a flow that has been silent for so long.
func (f *flow) age(now, limit unit.Time) {
	if f.silent(now, limit) {
		f.counters = counters{}
	}
}
