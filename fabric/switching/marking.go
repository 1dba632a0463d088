package switching

import (
	"math/rand/v2"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// law is a marking law in the form that the transmitter asks for.
type law uint8

const (
	lawNone law = iota
	lawRED
	lawNPECN
	lawQCN          // marks nothing: see judge
	lawQCNDeparture // the same, with QCNConfig.AtDeparture
)

var laws = map[cc.Marking]law{"": lawNone, cc.MarkNone: lawNone, cc.MarkRED: lawRED, cc.MarkNPECN: lawNPECN, cc.MarkQCN: lawQCN}

// marker decides, at the start of each transmission, whether the frame gets
// congestion experienced; for the converter it decides on arrival.
type marker struct {
	classes *[fabric.Priorities]ClassConfig // of the switch's Config
	law     [fabric.Priorities]law          // what relaw makes of their Marking
	random  rand.PCG
}

// newMarker makes the marker that follows the thresholds of classes as they change.
func newMarker(classes *[fabric.Priorities]ClassConfig, random rand.PCG) marker {
	m := marker{classes: classes, random: random}
	m.relaw()
	return m
}

// relaw takes over the marking laws of the classes.
func (m *marker) relaw() {
	for i := range m.classes {
		m.law[i] = laws[m.classes[i].Marking]
		if m.law[i] == lawQCN && m.classes[i].QCN.AtDeparture {
			m.law[i] = lawQCNDeparture
		}
	}
}

// decide asks the law of the class about a frame that has just left its queue.
// late tells that the frame had found others waiting when it came.
func (m *marker) decide(p *port, class fabric.Priority, late bool) bool {
	switch m.law[class] {
	case lawRED:
		return m.classes[class].RED.mark(p.queues[class].bytes, &m.random)
	case lawNPECN:
		return p.npecn[class].depart(late)
	default:
		return false
	}
}

// decideOnArrival asks the law of the class about a frame that has just come in and found
// so many bytes in its queue, before it has waited. It is the verdict of decide by
// what is known on arrival: RED looks at the queue in front of the frame instead of
// the one behind it (so does the text of DCQCN, §3.1), and NP-ECN spares what a
// pause piles up while it lasts.
func (m *marker) decideOnArrival(p *port, class fabric.Priority, found unit.Bytes) bool {
	switch m.law[class] {
	case lawRED:
		return m.classes[class].RED.mark(found, &m.random)
	case lawNPECN:
		return found > 0 && p.holds.set&(1<<class) == 0
	default:
		return false
	}
}

// mark writes congestion experienced into a frame whose transport is capable of
// ECN (RFC 3168 §5). Any other frame stays as it is, a CNM too, whose bytes have
// another meaning there.
func (p *port) mark(now unit.Time, class fabric.Priority, f *frame.Frame, out *fabric.Out) {
	if ecn := f.ECN(); ecn != frame.ECT0 && ecn != frame.ECT1 || f.Class() == frame.ClassCNM {
		return
	}
	f.SetECN(frame.CE)
	p.stats[class].MarkedFrames++
	fabric.First(&p.stats[class].CE, now)
	if out.Wants(f.Trace) {
		out.Note(fabric.Note{
			Kind: fabric.Marked, At: now, Port: p.id, Priority: class,
			A: int64(p.queues[class].bytes), B: int64(f.PSN()), Flow: FlowOf(f), Trace: f.Trace,
		})
	}
}
