package cc

import "github.com/rackfab/rackfab/fabric/unit"

// Fixed is the scheme `pfc`, which has no reaction point. The flow keeps its
// initial rate, and only priority flow control throttles it.
type Fixed struct{ rate unit.Rate }

// NewFixed returns the reaction point of a flow that always sends at rate, in
// (0, line rate].
func NewFixed(rate unit.Rate) *Fixed { return &Fixed{rate: rate} }

// Handle ignores the signal.
func (f *Fixed) Handle(unit.Time, Signal) {}

// Tick does nothing.
func (f *Fixed) Tick(unit.Time) {}

// Next returns false: there is no timer.
func (f *Fixed) Next() (unit.Time, bool) { return 0, false }

// Rate returns the initial rate of the flow.
func (f *Fixed) Rate() unit.Rate { return f.rate }

// Window returns 0: there is no limit.
func (f *Fixed) Window() unit.Bytes { return 0 }
