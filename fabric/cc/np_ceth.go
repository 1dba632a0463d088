package cc

import "github.com/rackfab/rackfab/fabric/unit"

// CETHNotifier is the notification point of one flow: it looks at each data packet
// and says what the next ACK tells (¶181 to ¶195).
//
// Invariant: marked is the number of marked samples in the window.
type CETHNotifier struct {
	p       CETHParams
	samples []cethSample // ring of the window
	oldest  int
	count   int
	marked  int

	state   bool       // the latest packet was marked
	covered bool       // a packet was marked since the last ACK
	path    Congestion // what telemetry says in the latest packet
}

type cethSample struct {
	at     unit.Time
	marked bool
}

// NewCETHNotifier makes the notification point of a flow. p is valid.
func NewCETHNotifier(p CETHParams) CETHNotifier {
	return CETHNotifier{p: p, samples: make([]cethSample, p.WindowPackets)}
}

// Marked tells whether the flow's latest packet was marked. A packet that differs
// changes the flow's state: what came before is acknowledged without it, and it
// without what comes after, so that the change is told at once.
func (n *CETHNotifier) Marked() bool { return n.state }

// Packet takes note of a data packet: whether it was marked (CE), and what
// telemetry said of its path.
func (n *CETHNotifier) Packet(now unit.Time, marked bool, path Congestion) {
	n.drop(now)
	if n.count == len(n.samples) {
		n.pop()
	}
	n.samples[(n.oldest+n.count)%len(n.samples)] = cethSample{now, marked}
	n.count++
	if marked {
		n.marked++
	}
	n.path = path
	n.state = marked
	n.covered = n.covered || marked
}

// drop takes out the samples that are older than the window.
func (n *CETHNotifier) drop(now unit.Time) {
	for n.count > 0 && now-n.samples[n.oldest].at > n.p.WindowTime {
		n.pop()
	}
}

func (n *CETHNotifier) pop() {
	if n.samples[n.oldest].marked {
		n.marked--
	}
	n.oldest = (n.oldest + 1) % len(n.samples)
	n.count--
}

// Acked says that an ACK goes that covers the packets so far.
func (n *CETHNotifier) Acked() { n.covered = false }

// Report says what an ACK at now tells: the indication over the packets that it
// covers, and the information if there is congestion and the mode wants it.
func (n *CETHNotifier) Report(now unit.Time) (congested bool, g Congestion) {
	return n.covered, n.information(now, n.covered)
}

// Present says what is to be told of a flow that nothing acknowledges: the path is
// congested while its latest packet was marked, told already or not.
func (n *CETHNotifier) Present(now unit.Time) (congested bool, g Congestion) {
	congested = n.covered || n.state
	return congested, n.information(now, congested)
}

// information is what there is to tell of a congested path, nothing of another.
func (n *CETHNotifier) information(now unit.Time, congested bool) Congestion {
	if !congested || n.p.Mode != CETHInformation {
		return Congestion{}
	}
	if n.p.Source == CETHWindow {
		n.drop(now)
		return Congestion{Known: ItemDegree, Degree: n.p.Class(float64(n.marked), float64(n.count))}
	}
	g := n.path
	if g.Known&ItemDepth != 0 {
		g.Known |= ItemDegree
		g.Degree = n.p.Class(float64(g.Depth), float64(n.p.Room))
	}
	return g
}

// Class gives the degree of part in whole.
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
