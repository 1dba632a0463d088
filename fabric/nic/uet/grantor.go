package uet

import (
	"iter"

	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Grantor grants credit to the hosts that send to this one.
type Grantor struct {
	order credit.Order
	pacer credit.Pacer
	peers []*Peer // by peer of the pacer
	next  unit.Time
}

// Peer is a host that sends to this one.
type Peer struct {
	g        *Grantor
	index    int // in the pacer
	from     int // host
	receiver int // its first flow
	trace    uint64
	sampled  credit.PeerStats // statistics at the last sample
}

// NewGrantor returns the grantor of a host whose link runs at line.
func NewGrantor(p *credit.Params, line unit.Rate) Grantor {
	return Grantor{order: p.Order, pacer: credit.NewPacer(p, line, 0), next: unit.Never}
}

// Add returns the peer of a new flow from a host, which is that of earlier flows from it.
// Grants name the first of them by its index, receiver.
func (g *Grantor) Add(from, receiver int) *Peer {
	for _, p := range g.peers {
		if p.from == from {
			return p
		}
	}
	p := &Peer{g: g, index: len(g.peers), from: from, receiver: receiver}
	g.peers = append(g.peers, p)
	g.pacer.Add()
	return p
}

// Grant is credit for a peer.
type Grant struct {
	*Peer
	Quanta int64  // since the previous grant
	Credit uint32 // cumulative, as a control packet carries it
}

// Next returns the instant of the next Tick, Never if no peer wants credit.
func (g *Grantor) Next() unit.Time { return g.next }

// Tick returns the grant that is due. It returns false if nothing is granted now.
func (g *Grantor) Tick(now unit.Time) (Grant, bool) {
	grant, ok := g.pacer.Tick(now)
	g.renew()
	if !ok {
		return Grant{}, false
	}
	return Grant{g.peers[grant.Peer], grant.Quanta, credit.ControlCounter.Truncate(grant.Number)}, true
}

// renew recomputes next.
func (g *Grantor) renew() {
	at, listed := g.pacer.Next()
	if g.next = at; !listed {
		g.next = unit.Never
	}
}

// Samples yields the peers with activity since the last call, and their statistics
// since then.
func (g *Grantor) Samples() iter.Seq2[*Peer, credit.PeerStats] {
	return func(yield func(*Peer, credit.PeerStats) bool) {
		for _, p := range g.peers {
			is, was := p.Stats(), p.sampled
			if is == was {
				continue
			}
			p.sampled = is
			if !yield(p, credit.PeerStats{
				Indicated: is.Indicated - was.Indicated, Firings: is.Firings - was.Firings, Quanta: is.Quanta - was.Quanta,
			}) {
				return
			}
		}
	}
}

// Receiver returns the index of the peer's first flow.
func (p *Peer) Receiver() int { return p.receiver }

// Trace returns the trace of the peer's latest packet.
func (p *Peer) Trace() uint64 { return p.trace }

// Stats returns the peer's counters.
func (p *Peer) Stats() credit.PeerStats { return p.g.pacer.Stats(p.index) }

// Coefficient returns the size of the peer's next grant, in MTU.
func (p *Peer) Coefficient() float64 { return p.g.pacer.Coefficient(p.index) }

// Latest returns the cumulative credit of the peer, in a field of the given width.
func (p *Peer) Latest(width credit.Counter) uint32 { return width.Truncate(p.g.pacer.Latest(p.index)) }

// Request takes the cumulative credit that a credit request asks for.
func (p *Peer) Request(now unit.Time, wire uint32, trace uint64) {
	p.trace = trace
	p.g.pacer.Request(now, p.index, credit.ControlCounter.Decode(wire, p.g.pacer.Asked(p.index)))
	p.g.renew()
}

// Packet takes the bits of target_pull of a data packet. ahead is the packet's distance
// from the expected one: a packet out of order counts only in the order of arrival.
func (p *Peer) Packet(now unit.Time, target uint32, ahead int32, trace uint64) {
	p.trace = trace
	if ahead == 0 || p.g.order == credit.OrderArrival {
		p.g.pacer.Packet(now, p.index, target)
		p.g.renew()
	}
}
