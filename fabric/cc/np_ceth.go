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
	path    Congestion // what telemetry said last
}

type cethSample struct {
	at     unit.Time
	marked bool
}

// NewCETHNotifier makes the notification point of a flow. p is valid.
func NewCETHNotifier(p CETHParams) CETHNotifier {
	return CETHNotifier{p: p, samples: make([]cethSample, p.WindowPackets)}
}

// Packet takes note of a data packet: whether it was marked (CE), and what
// telemetry said of its path. It tells whether the flow's state has changed, so
// that the ACK must not wait.
func (n *CETHNotifier) Packet(now unit.Time, marked bool, path Congestion) (changed bool) {
	n.drop(now)
	if n.count == len(n.samples) {
		n.pop()
	}
	n.samples[(n.oldest+n.count)%len(n.samples)] = cethSample{now, marked}
	n.count++
	if marked {
		n.marked++
	}
	if path.Known != 0 {
		n.path = path
	}
	changed = marked != n.state
	n.state = marked
	n.covered = n.covered || marked
	return changed
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

// Report says what an ACK tells that leaves at now: the indication over the
// packets that it covers, and the information if there is congestion and the mode
// wants it.
func (n *CETHNotifier) Report(now unit.Time) (congested bool, g Congestion) {
	congested = n.covered
	n.covered = false
	if !congested || n.p.Mode != CETHInformation {
		return congested, Congestion{}
	}
	if n.p.Source == CETHWindow {
		n.drop(now)
		return true, Congestion{Known: ItemDegree, Degree: n.class(float64(n.marked), float64(n.count))}
	}
	g = n.path
	if g.Known&ItemDepth != 0 {
		g.Known |= ItemDegree
		g.Degree = n.class(float64(g.Depth), float64(n.p.Room))
	}
	return true, g
}

// class gives the degree of part in whole.
func (n *CETHNotifier) class(part, whole float64) Degree {
	switch {
	case part == 0:
		return DegreeNone
	case part <= n.p.Light*whole:
		return DegreeLight
	case part <= n.p.Medium*whole:
		return DegreeMedium
	}
	return DegreeHeavy
}
