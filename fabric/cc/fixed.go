package cc

import "github.com/rackfab/rackfab/fabric/unit"

// Fixed is the scheme `pfc`, which has no reaction point. The flow keeps its
// initial rate, and only priority flow control throttles it.
type Fixed struct {
	timerless
	pace
}

// NewFixed returns the reaction point of a flow that always sends at rate, in
// (0, line rate].
func NewFixed(rate unit.Rate) *Fixed { return &Fixed{pace: newPace(rate, rate, 0)} }

// Handle ignores the signal.
func (f *Fixed) Handle(unit.Time, Signal) {}
