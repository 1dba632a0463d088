package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// shaperSample is the state of the shaper at the latest sample.
type shaperSample struct {
	out, in unit.Bytes // tokens
	stall   shaper.Stall
}

// Sample notes the tokens of the whole NIC, and the time that classes have waited
// for tokens since the last sample.
func (e *Engine) Sample(now unit.Time, out *fabric.Out) {
	is, was := shaperSample{stall: e.shaper.Stalled(now)}, e.sampled
	is.out, is.in = e.shaper.Tokens(now)
	note := func(e fabric.Event) { out.Note(fabric.Note{Event: e, At: now, Flow: fabric.NoFlow}) }
	if is.in != was.in {
		note(fabric.NewTokensSampled(is.in, fabric.DirectionIn))
	}
	if is.out != was.out {
		note(fabric.NewTokensSampled(is.out, fabric.DirectionOut))
	}
	if d := is.stall.In - was.stall.In; d > 0 {
		note(fabric.NewStallSampled(d, fabric.DirectionIn))
	}
	if d := is.stall.Out - was.stall.Out; d > 0 {
		note(fabric.NewStallSampled(d, fabric.DirectionOut))
	}
	e.sampled = is
}

// Changing reports whether tokens or stalls change by time alone.
func (e *Engine) Changing() bool { return e.shaper.Changing() }
