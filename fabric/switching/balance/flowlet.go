package balance

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// flowlet is an entry of the flowlet table: the port of the current flowlet of all flows
// with the same index, and the instant of its latest packet. Flows that share an entry
// share its flowlets, as in CONGA (SIGCOMM 2014).
type flowlet struct {
	last unit.Time
	next fabric.Port // port + 1, 0 for an unused entry
}

// flowlet takes the port of the flow's flowlet. A packet that arrives more than Gap after
// the one before starts a new flowlet at a random port (LetFlow). An entry whose flowlet
// has a port outside the set belongs to another set, or its link went down: the packet then
// takes the port of the hash until no packet has taken the entry's port for Gap.
func (b *Balancer) flowlet(p *Packet) fabric.Port {
	if b.flowlets == nil {
		b.flowlets = make([]flowlet, b.Entries)
	}
	// The port of the hash depends on its upper bits, the index on the lower ones.
	e := &b.flowlets[p.Hash&(1<<32-1)%uint64(len(b.flowlets))]
	switch {
	case e.next == 0 || p.Now-e.last > b.Gap:
		e.next = p.Ports[b.below(len(p.Ports))] + 1
	case !slices.Contains(p.Ports, e.next-1):
		return p.Pick()
	}
	e.last = p.Now
	return e.next - 1
}
