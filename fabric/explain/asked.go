package explain

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// bins is the number of bins in the timeline.
const bins = 24

// asked is the observation of the account that the question is about.
type asked struct {
	port     fabric.Port
	q        Question
	last     State // at the latest event
	peak     extreme
	closest  extreme
	timeline []Bin
	through  map[fabric.FlowID]bool // flows that entered through the port in the range
}

// extreme is the state with the largest measure so far.
type extreme struct {
	State
	seen           bool
	measure, named unit.Bytes // now, and at the latest lookup of the flows
}

func newAsked(q Question, port fabric.Port) *asked {
	a := &asked{q: q, port: port, through: map[fabric.FlowID]bool{}}
	for i := range bins {
		a.timeline = append(a.timeline, Bin{From: a.start(i)})
	}
	return a
}

// start returns the instant at which a bin begins. start(bins) is the end of the last
// bin.
func (a *asked) start(bin int) unit.Time {
	width := a.q.To - a.q.From
	return a.q.From + width/bins*unit.Time(bin) + width%bins*unit.Time(bin)/bins
}

// bin returns the index of the bin that contains at, or the nearest bin for instants
// outside the range.
func (a *asked) bin(at unit.Time) int {
	i := min(max(int((at-a.q.From)/max((a.q.To-a.q.From)/bins, 1)), 0), bins-1)
	for i > 0 && at < a.start(i) {
		i--
	}
	return i
}

// came records that a frame of a flow entered through the port.
func (a *asked) came(at unit.Time, flow fabric.FlowID) {
	if at >= a.q.From && at < a.q.To && flow != fabric.NoFlow {
		a.through[flow] = true
	}
}

// look records the state of the account after an event. flows lists the flows that
// occupy it.
func (a *asked) look(now State, flows func() []Holding) {
	if now.At >= a.q.To {
		return
	}
	if now.At >= a.q.From {
		if a.last.At < a.q.From {
			a.further(a.last, flows)
		}
		a.further(now, flows)
	}
	a.cover(now.At)
	a.last = now
	a.cover(now.At)
}

// further replaces the extremes that s exceeds.
func (a *asked) further(s State, flows func() []Holding) {
	a.peak.take(s, s.Occupancy, flows)
	a.closest.take(s, -s.Margin(), flows)
}

// take replaces the state if measure is larger. It looks up the flows that occupy the
// buffer again once the measure has grown by a hundredth of the occupancy.
func (e *extreme) take(s State, measure unit.Bytes, flows func() []Holding) {
	if e.seen && measure <= e.measure {
		return
	}
	known := e.Flows
	if !e.seen || (measure-e.named)*100 > s.Occupancy {
		known, e.named = flows(), measure
	}
	e.State, e.measure, e.seen = s, measure, true
	e.Flows = known
}

// cover adds the latest state, which is valid until the given instant, to the bins.
func (a *asked) cover(until unit.Time) {
	s := a.last
	if until < a.q.From {
		return
	}
	for i := a.bin(max(s.At, a.q.From)); i <= a.bin(until); i++ {
		b := &a.timeline[i]
		b.Occupancy, b.Shared, b.Headroom = max(b.Occupancy, s.Occupancy), max(b.Shared, s.Shared), max(b.Headroom, s.Headroom)
		if b.Threshold == 0 || s.Threshold < b.Threshold {
			b.Threshold = s.Threshold
		}
	}
}
