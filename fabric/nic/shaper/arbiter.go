package shaper

import (
	"iter"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Arbiter decides what a NIC sends next: a packet of a flow or of a unit. Flows are a leaf
// without tokens, in which they take turns; units spend tokens. While both may send, they
// alternate packet by packet.
type Arbiter struct {
	Turns
	*Shaper
	pending  func(flow int) bool
	flowLast bool // the latest packet was a flow's
	asked    bool // the latest Pick asked the units
}

// NewArbiter returns an arbiter without flows and units. pending reports whether a flow, whose
// turn it is, still has a packet to send.
func NewArbiter(pending func(flow int) bool) Arbiter {
	return Arbiter{Turns: NewTurns(0), Shaper: New(Config{}), pending: pending}
}

// Serve adds the units. cfg must be valid, see Config.Validate.
func (a *Arbiter) Serve(cfg Config) {
	paused := a.paused
	a.Shaper, a.flowLast = New(cfg), false
	a.paused = paused
}

// Choice is what sends next.
type Choice struct {
	Unit  bool // it is a unit, not a flow
	Index int
}

// Pick returns the flow or unit that sends now, parks the flow and charges the unit's packet.
// It returns false if none may send.
func (a *Arbiter) Pick(now unit.Time) (c Choice, ok bool) {
	if a.asked = a.flowLast; a.asked && a.due <= now {
		if u, ok := a.Shaper.Pick(now); ok {
			a.flowLast = false
			return Choice{Unit: true, Index: u}, true
		}
	}
	for {
		i, ok := a.Turns.Pick(now, a.paused)
		if !ok {
			break
		}
		if a.pending(i) {
			a.flowLast = true
			return Choice{Index: i}, true
		}
	}
	if a.asked {
		return Choice{}, false
	}
	a.asked = true
	u, ok := a.Shaper.Pick(now)
	return Choice{Unit: true, Index: u}, ok
}

// Due returns the earliest instant at which Pick may return something, as far as known, or
// Never if time alone is not enough.
func (a *Arbiter) Due() unit.Time { return min(a.Turns.Due(a.paused), a.Shaper.Due()) }

// PassedOver iterates over the units whose responses exceeded a bound at the latest Pick, see
// Shaper.PassedOver. There are none if it was the turn of a flow.
func (a *Arbiter) PassedOver() iter.Seq2[int, Excess] {
	if a.asked {
		return a.Shaper.PassedOver()
	}
	return func(func(int, Excess) bool) {}
}
