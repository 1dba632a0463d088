// Package rttx converts the ECN marks of a flow's packets into an addition to its
// round-trip time, as a programmable switch would ("network congestion signal
// conversion method based on a programmable switch", CN application
// 202610735428.3; [00nn] is its numbered paragraph). It keeps the flow table,
// the queue-pair table and the laws that derive level and increment from counts.
// Its inputs are numbers; it knows no frame, queue or port.
//
//	forward packet -> FlowKey -> P, P_e -> level --+
//	                                               | index
//	return packet --> FlowKey of its flow -------> table of increments -> delta RTT
package rttx

import "github.com/rackfab/rackfab/fabric/unit"

// Converter is the converter of one switch. It does not allocate after New.
type Converter struct {
	params  Params
	formula unit.Time // D by the formula
	d       unit.Time
	amounts [MaxLevels + 1]unit.Time // increment by level
	flows   table
	pairs   pairTable
	stats   Stats
}

// Stats counts the work of a converter since the start of the run, in packets unless
// stated otherwise.
type Stats struct {
	D          unit.Time // base increment in force
	Flows      int       // flows in the table now
	Registered uint64    // flows added to the table
	Replaced   uint64    // aged flows replaced by another
	Forward    uint64    // forward packets counted
	Events     uint64    // forward packets that met congestion
	// States counts forward packets by the state of their flow after the packet.
	States     [states]uint64
	Overflowed uint64 // forward packets of flows that found the table full
	Collided   uint64 // forward packets whose FlowKey is another flow's
	Returned   uint64 // return packets that measure an RTT
	Unknown    uint64 // return packets whose flow is not in the table
	Rewritten  uint64 // return packets that got an increment
}

// New returns a converter with an empty flow table. pairs are the connections whose
// packets may pass. They match return packets to flows unless p.Match is MatchMirror.
// rates are the rates of the switch's ports, buffer is its shared buffer: both
// determine D if p.D is 0. p is valid.
func New(p Params, pairs []Pair, buffer unit.Bytes, rates []unit.Rate) *Converter {
	c := &Converter{params: p, flows: newTable(p.Table), pairs: newPairTable(pairs), formula: FormulaD(buffer, rates)}
	c.SetD(p.D)
	return c
}

// Verdict is the result of counting a forward packet.
type Verdict struct {
	// Counted says that the packet's flow is in the table. The caller must not change
	// a packet that is not counted.
	Counted    bool
	Collided   bool // not counted, because another flow has its FlowKey
	Level, Was int  // of the flow, after the packet and before it
	State      State
}

// Forward counts a forward packet that arrived at now. congested says that the packet
// met congestion ([0047]). The caller must call Left for each counted packet.
func (c *Converter) Forward(now unit.Time, fields Fields, congested bool) Verdict {
	f, collided := c.register(now, fields)
	if f == nil {
		return Verdict{Collided: collided}
	}
	c.stats.Forward++
	if congested {
		c.stats.Events++
	}
	v := Verdict{Counted: true, Was: int(f.level)}
	f.waiting++
	f.count(congested, &c.params)
	v.Level = int(f.level)
	v.State = StateOf(v.Level, c.params.Levels)
	c.stats.States[v.State]++
	return v
}

// Left records that a counted forward packet left the switch, sent or dropped. The
// flow is not silent before that.
func (c *Converter) Left(now unit.Time, fields Fields) {
	if f := c.find(fields); f != nil {
		f.waiting--
		c.sight(now, f)
	}
}

// Return returns the level of a return packet's flow, and the increment for the
// timestamp of the packet. It returns 0 and 0 if the packet must not be changed
// ([0052] to [0054]).
func (c *Converter) Return(now unit.Time, fields Fields) (level int, increment unit.Time) {
	c.stats.Returned++
	f := c.returning(now, fields)
	if f == nil {
		c.stats.Unknown++
		return 0, 0
	}
	if !f.congested() {
		return 0, 0
	}
	c.stats.Rewritten++
	return int(f.level), c.amounts[f.level]
}

// SetD sets the base increment, from 0 to MaxD. 0 selects the formula. The increment
// applies to every flow from the next return packet on ([0065]).
func (c *Converter) SetD(d unit.Time) {
	if d == 0 {
		d = c.formula
	}
	c.d = d
	c.tabulate()
}

// SetPMax sets P_max, from 0 to 1.
func (c *Converter) SetPMax(p float64) {
	c.params.PMax = p
	c.tabulate()
}

// tabulate precomputes the increments, so that a packet needs only a look-up.
func (c *Converter) tabulate() {
	for level := range c.params.Levels + 1 {
		c.amounts[level] = c.params.increment(level, c.d)
	}
}

// Stats returns a snapshot.
func (c *Converter) Stats() Stats {
	s := c.stats
	s.D, s.Flows = c.d, len(c.flows.index)
	return s
}
