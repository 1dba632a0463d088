package switching

import (
	"math/rand/v2"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// law is a marking law in the form that the transmitter uses.
type law uint8

const (
	lawNone law = iota
	lawRED
	lawNPECN
	lawStep
	lawQCN          // marks nothing: see judge
	lawQCNDeparture // as lawQCN, with QCNConfig.AtDeparture
)

var laws = map[cc.Marking]law{"": lawNone, cc.MarkNone: lawNone, cc.MarkRED: lawRED, cc.MarkNPECN: lawNPECN, cc.MarkStep: lawStep, cc.MarkQCN: lawQCN}

// marker decides whether a frame is marked congestion experienced. It decides at the
// start of the transmission, or for the converter on arrival.
type marker struct {
	classes *[fabric.Priorities]ClassConfig // of the switch's Config
	law     [fabric.Priorities]law          // derived by relaw from their Marking
	random  rand.PCG
}

// newMarker returns a marker that follows changes of classes' thresholds.
func newMarker(classes *[fabric.Priorities]ClassConfig, random rand.PCG) marker {
	m := marker{classes: classes, random: random}
	m.relaw()
	return m
}

// relaw updates the laws from the configuration of the classes.
func (m *marker) relaw() {
	for i := range m.classes {
		m.law[i] = laws[m.classes[i].Marking]
		if m.law[i] == lawQCN && m.classes[i].QCN.AtDeparture {
			m.law[i] = lawQCNDeparture
		}
	}
}

// lawAt returns the law of a class at a port.
func (m *marker) lawAt(p *port, class fabric.Priority) law {
	if p.Unmarked {
		return lawNone
	}
	return m.law[class]
}

// decide applies the law of the class to a frame that has just left its queue.
// late says that the frame found other frames waiting on its arrival.
func (m *marker) decide(p *port, class fabric.Priority, late bool) bool {
	switch m.lawAt(p, class) {
	case lawRED:
		return m.classes[class].RED.mark(p.queues[class].bytes, &m.random)
	case lawNPECN:
		return p.npecn[class].depart(late)
	case lawStep:
		return p.queues[class].bytes > p.step[class]
	default:
		return false
	}
}

// decideOnArrival applies the law of the class to a frame that has just arrived and
// found that many bytes in its queue. It differs from decide in what is known on
// arrival. RED uses the queue in front of the frame instead of the one behind it, as
// does the text of DCQCN (§3.1). NP-ECN does not mark frames that arrive while their
// class is paused.
func (m *marker) decideOnArrival(p *port, class fabric.Priority, found unit.Bytes) bool {
	switch m.lawAt(p, class) {
	case lawRED:
		return m.classes[class].RED.mark(found, &m.random)
	case lawNPECN:
		return found > 0 && p.pauses.set&(1<<class) == 0
	case lawStep:
		return found > p.step[class]
	default:
		return false
	}
}

// mark sets congestion experienced in a frame with an ECN-capable transport
// (RFC 3168 §5). Other frames are unchanged. So are CNMs, which have other data at
// these bytes.
func (p *port) mark(now unit.Time, class fabric.Priority, f *frame.Frame, out *fabric.Out) {
	if ecn := f.ECN(); ecn != frame.ECT0 && ecn != frame.ECT1 || f.Class() == frame.ClassCNM {
		return
	}
	f.SetECN(frame.CE)
	p.stats[class].MarkedFrames++
	fabric.First(&p.stats[class].CE, now)
	noteFrame(now, p.id, class, fabric.NewMarked(p.queues[class].bytes, f.PSN()), f, out)
}
