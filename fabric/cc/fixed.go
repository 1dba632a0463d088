package cc

import "github.com/rackfab/rackfab/fabric/unit"

// Fixed is the scheme `pfc`: no reaction point at all. The flow keeps the rate
// with which it began, and priority flow control alone holds it back.
type Fixed struct{ rate unit.Rate }

// NewFixed makes the reaction point of a flow that sends at rate, in (0, line
// rate], to its end.
func NewFixed(rate unit.Rate) *Fixed { return &Fixed{rate: rate} }

// Handle ignores the signal.
func (f *Fixed) Handle(unit.Time, Signal) {}

// Tick does nothing.
func (f *Fixed) Tick(unit.Time) {}

// Next is false: there is no timer.
func (f *Fixed) Next() (unit.Time, bool) { return 0, false }

// Rate gives the rate with which the flow began.
func (f *Fixed) Rate() unit.Rate { return f.rate }

// Window is 0: there is no bound.
func (f *Fixed) Window() unit.Bytes { return 0 }
