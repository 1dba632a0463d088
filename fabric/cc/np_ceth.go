package cc

import (
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// CETHNotifier is the notification point of one flow. It observes each data
// packet and determines the notification in the next ACK (¶181 to ¶195).
//
// Invariant: marked is the number of marked samples in the window.
type CETHNotifier struct {
	p       CETHParams
	samples ring.Ring[cethSample] // of the window
	marked  int

	state   bool       // the latest packet was marked
	covered bool       // a packet was marked since the last ACK
	path    Congestion // telemetry of the latest packet
}

type cethSample struct {
	at     unit.Time
	marked bool
}

// NewCETHNotifier returns the notification point of a flow. p must be valid.
func NewCETHNotifier(p CETHParams) CETHNotifier {
	return CETHNotifier{p: p, samples: ring.WithLimit[cethSample](p.WindowPackets)}
}

// Marked reports whether the flow's latest packet was marked. When this state
// changes, an ACK must cover the earlier packets only, and the changed packet
// needs an ACK of its own, so that the sender learns of the change at once.
func (n *CETHNotifier) Marked() bool { return n.state }

// Packet records a data packet: whether it was marked (CE), and the telemetry
// of its path.
func (n *CETHNotifier) Packet(now unit.Time, marked bool, path Congestion) {
	n.drop(now)
	if n.samples.Full() {
		n.pop()
	}
	*n.samples.Next() = cethSample{now, marked}
	if marked {
		n.marked++
	}
	n.path = path
	n.state = marked
	n.covered = n.covered || marked
}

// drop removes the samples that are older than the window.
func (n *CETHNotifier) drop(now unit.Time) {
	for n.samples.Len() > 0 && now-n.samples.Front().at > n.p.WindowTime {
		n.pop()
	}
}

func (n *CETHNotifier) pop() {
	if n.samples.Pop().marked {
		n.marked--
	}
}

// Acked records that an ACK covers all packets so far.
func (n *CETHNotifier) Acked() { n.covered = false }

// Report returns the notification for an ACK at now: the indication for the
// packets that the ACK covers, and the information if the path is congested and
// the mode includes it.
func (n *CETHNotifier) Report(now unit.Time) (congested bool, g Congestion) {
	return n.covered, n.information(now, n.covered)
}

// Present returns the notification for a flow without ACKs. The path is
// congested while the flow's latest packet was marked, whether or not that was
// reported before.
func (n *CETHNotifier) Present(now unit.Time) (congested bool, g Congestion) {
	congested = n.covered || n.state
	return congested, n.information(now, congested)
}

// information returns the information about a congested path; it is empty for a
// path without congestion.
func (n *CETHNotifier) information(now unit.Time, congested bool) Congestion {
	if !congested || n.p.Mode != CETHInformation {
		return Congestion{}
	}
	if n.p.Source == CETHWindow {
		n.drop(now)
		return Congestion{Known: ItemDegree, Degree: n.p.Class(float64(n.marked), float64(n.samples.Len()))}
	}
	g := n.path
	if g.Known&ItemDepth != 0 {
		g.Known |= ItemDegree
		g.Degree = n.p.Class(float64(g.Depth), float64(n.p.Room))
	}
	return g
}

// Class returns the degree for the ratio of part to whole.
func (p *CETHParams) Class(part, whole float64) Degree {
	switch {
	case part == 0:
		return DegreeNone
	case part <= p.Light*whole:
		return DegreeLight
	case part <= p.Medium*whole:
		return DegreeMedium
	}
	return DegreeHeavy
}
