package explain

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// bins is the number of bins in the timeline.
const bins = 24

// history is the observation of the account in question.
type history struct {
	Question
	port     fabric.Port
	last     State // at the latest event
	peak     extreme
	closest  extreme
	timeline []Bin
	flows    map[fabric.FlowID]bool // flows that entered through the port in the range
}

// extreme is the state with the largest measure so far.
type extreme struct {
	State
	seen             bool
	measure, flowsAt unit.Bytes // now, and at the latest lookup of the flows
}

func newHistory(q Question, port fabric.Port) *history {
	h := &history{Question: q, port: port, flows: map[fabric.FlowID]bool{}}
	for i := range bins {
		h.timeline = append(h.timeline, Bin{From: h.start(i)})
	}
	return h
}

// start returns the instant at which a bin begins. start(bins) is the end of the last
// bin.
func (h *history) start(bin int) unit.Time {
	width := h.To - h.From
	return h.From + width/bins*unit.Time(bin) + width%bins*unit.Time(bin)/bins
}

// bin returns the index of the bin that contains at, or the nearest bin for instants
// outside the range.
func (h *history) bin(at unit.Time) int {
	i := min(max(int((at-h.From)/max((h.To-h.From)/bins, 1)), 0), bins-1)
	for i > 0 && at < h.start(i) {
		i--
	}
	return i
}

// entered records that a frame of a flow entered through the port.
func (h *history) entered(at unit.Time, flow fabric.FlowID) {
	if at >= h.From && at < h.To && flow != fabric.NoFlow {
		h.flows[flow] = true
	}
}

// record records the state of the account after an event. flows lists the flows that
// occupy it.
func (h *history) record(now State, flows func() []Holding) {
	if now.At >= h.To {
		return
	}
	if now.At >= h.From {
		if h.last.At < h.From {
			h.replace(h.last, flows)
		}
		h.replace(now, flows)
	}
	h.cover(now.At)
	h.last = now
	h.cover(now.At)
}

// replace replaces the extremes that s exceeds.
func (h *history) replace(s State, flows func() []Holding) {
	h.peak.update(s, s.Occupancy, flows)
	h.closest.update(s, -s.Margin(), flows)
}

// update replaces the state if measure is larger. It looks up the flows that occupy the
// buffer again once the measure has grown by a hundredth of the occupancy.
func (e *extreme) update(s State, measure unit.Bytes, flows func() []Holding) {
	if e.seen && measure <= e.measure {
		return
	}
	listed := e.Flows
	if !e.seen || (measure-e.flowsAt)*100 > s.Occupancy {
		listed, e.flowsAt = flows(), measure
	}
	e.State, e.measure, e.seen = s, measure, true
	e.Flows = listed
}

// cover adds the latest state, which is valid until the given instant, to the bins.
func (h *history) cover(until unit.Time) {
	s := h.last
	if until < h.From {
		return
	}
	for i := h.bin(max(s.At, h.From)); i <= h.bin(until); i++ {
		b := &h.timeline[i]
		b.Occupancy, b.Shared, b.Headroom = max(b.Occupancy, s.Occupancy), max(b.Shared, s.Shared), max(b.Headroom, s.Headroom)
		if b.Threshold == 0 || s.Threshold < b.Threshold {
			b.Threshold = s.Threshold
		}
	}
}
