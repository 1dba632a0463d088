package rttx

import "github.com/rackfab/rackfab/fabric/unit"

// flow is the state of one flow ([0046]).
//
// Invariant: marked <= packets < window; level <= N.
type flow struct {
	counters
	key        FlowKey
	fields     Fields
	seen       unit.Time // instant at which a forward packet of the flow last arrived or left
	waiting    int       // forward packets of the flow in the switch
	at         int32     // index of this flow
	prev, next int32     // list in the order of seen
}

// counters are the state of a flow that a data plane keeps beside its key ([0066]).
// The level is also the index of the increment.
type counters struct {
	packets uint8 // P, of the current window
	marked  uint8 // P_e
	level   uint8 // Cong_Level
}

// State is the congestion state of a flow ([0046]).
type State uint8

// States.
const (
	NotCongested State = iota
	Slight
	Severe
	states int = iota
)

func (s State) String() string { return [states]string{"not congested", "slight", "severe"}[s] }

// StateOf returns the state of a level in 0 to levels. The lower half of the levels
// above 0 is slight. Of five levels, 1 and 2 are slight, 3 and 4 severe.
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

// count counts a forward packet ([0047]) and updates the level by the law of the
// way.
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

// step is the law of ways 1 to 3 ([0059]): an event raises the level by one, up to N.
// A packet without an event lowers it, down to 0. Taken literally, the text raises
// only a level that is already above 0, so that no level would ever rise.
func (c *counters) step(event bool, levels int) {
	switch {
	case event && int(c.level) < levels:
		c.level++
	case !event && c.level > 0:
		c.level--
	}
}

// grade is table 1 ([0063]): the number of thresholds 0.2, 0.4, 0.6 and 0.8 that the
// share marked/packets has reached, computed without a division. With 8 packets it is
// the integer table of [0064].
func grade(marked, packets uint8) (level uint8) {
	for level < TableLevels && 5*int(marked) >= int(level+1)*int(packets) {
		level++
	}
	return level
}

// silent reports whether the flow has had no packet in the switch for at least limit.
func (f *flow) silent(now, limit unit.Time) bool { return f.waiting == 0 && now-f.seen >= limit }

// age resets the counters of a flow that has been silent for at least limit.
func (f *flow) age(now, limit unit.Time) {
	if f.silent(now, limit) {
		f.counters = counters{}
	}
}
