package program

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Run is a program that runs on its host.
type Run struct {
	p        *Program
	after    graph
	waiting  []int32 // conditions left, by step
	begun    []unit.Time
	ready    ring.Ring[int32]
	calcs    processors
	matching matching
	arrivals arrivals
	post     func(now unit.Time, step int, s *Step, out *fabric.Out)
	started  bool
}

// New returns the run of a valid program, which begins at its first Tick, at 0. post posts the message
// of a Send, and begins the flow of a Transfer.
func New(p *Program, post func(now unit.Time, step int, s *Step, out *fabric.Out)) *Run {
	r := &Run{p: p, post: post, begun: make([]unit.Time, p.Len()), calcs: newProcessors(p), matching: newMatching(p.Len()), arrivals: newArrivals(p)}
	r.after, r.waiting = dependents(p)
	return r
}

// Next returns the instant of the next Tick, Never if there is none.
func (r *Run) Next() unit.Time {
	if !r.started {
		return 0
	}
	return r.calcs.next()
}

// Tick begins the program, and ends the calculations that are due.
func (r *Run) Tick(now unit.Time, out *fabric.Out) {
	if !r.started {
		r.started = true
		for i, n := range r.waiting {
			if n == 0 {
				r.ready.Push(int32(i))
			}
		}
	}
	for r.calcs.next() <= now {
		r.done(now, r.calcs.end(now), out)
	}
	r.run(now, out)
}

// Sent handles that the message of a Send is acknowledged, or the flow of a Transfer.
func (r *Run) Sent(now unit.Time, step int, out *fabric.Out) {
	r.done(now, step, out)
	r.run(now, out)
}

// Received handles a message with the tag that has arrived whole from a host.
func (r *Run) Received(now unit.Time, from int32, tag uint32, out *fabric.Out) {
	if step, ok := r.matching.arrive(from, tag); ok {
		r.done(now, step, out)
		r.run(now, out)
	}
}

// Arrived handles that a flow of another host has arrived whole.
func (r *Run) Arrived(now unit.Time, flow fabric.FlowID, out *fabric.Out) {
	if step, ok := r.arrivals.arrive(flow); ok {
		r.done(now, step, out)
		r.run(now, out)
	}
}

// run begins the steps that are ready.
func (r *Run) run(now unit.Time, out *fabric.Out) {
	for r.ready.Len() > 0 {
		r.begin(now, int(r.ready.Pop()), out)
	}
}

func (r *Run) begin(now unit.Time, i int, out *fabric.Out) {
	s := &r.p.steps[i]
	r.begun[i] = now
	r.release(i, true)
	switch s.Kind {
	case Send:
		r.post(now, i, s, out)
	case Transfer:
		r.post(now, i, s, out)
		if s.Amount == Endless {
			r.done(now, i, out)
		}
	case Arrival:
		if r.arrivals.await(s.Flow) {
			r.done(now, i, out)
		}
	case Receive:
		if r.matching.await(i, s) {
			r.done(now, i, out)
		}
	case Calc:
		if s.Amount == 0 && r.calcs.idle(s) {
			r.done(now, i, out)
			return
		}
		r.calcs.add(now, i, s)
	}
}

// done notes that a step is done, and releases those that wait for it.
func (r *Run) done(now unit.Time, i int, out *fabric.Out) {
	out.Note(fabric.Note{Event: fabric.NewStepDone(uint32(i), r.begun[i]), At: now, Flow: fabric.NoFlow})
	r.release(i, false)
}

// release counts the conditions that are met now that a step has begun, or is done.
func (r *Run) release(i int, begun bool) {
	for _, c := range r.after.of(i) {
		if c.Begun() != begun {
			continue
		}
		if r.waiting[c.Step()]--; r.waiting[c.Step()] == 0 {
			r.ready.Push(int32(c.Step()))
		}
	}
}
