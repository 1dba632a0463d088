package uet

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Requests are granted in turn until they are met, as cumulative numbers.
func TestGrantsMeetTheRequests(t *testing.T) {
	g := NewGrantor(params(), line)
	a, b, again := g.Add(4, 0), g.Add(5, 1), g.Add(4, 2)
	if a == b || a != again || a.Receiver() != 0 || g.Next() != unit.Never {
		t.Fatalf("peers of receivers %d and %d, next grant at %v", a.Receiver(), b.Receiver(), g.Next())
	}
	a.Request(us, 10, 77)
	b.Request(us, 20, 88)
	if g.Next() != us {
		t.Errorf("the first grant is due at %v, want at once", g.Next())
	}
	granted := map[*Peer]uint32{}
	for g.Next() < 20*us {
		grant, ok := g.Tick(g.Next())
		if ok {
			granted[grant.Peer] = grant.Credit
		}
	}
	if granted[a] < 10 || granted[b] < 20 || a.Latest(credit.UETCounter) != granted[a] || a.Trace() != 77 || b.Trace() != 88 {
		t.Errorf("granted %d and %d quanta of 10 and 20, traces %d and %d", granted[a], granted[b], a.Trace(), b.Trace())
	}
}

// A peer whose request is met gets some credit in advance, and then none.
func TestGrantsEnd(t *testing.T) {
	g := NewGrantor(params(func(p *credit.Params) { p.Window = 100 * credit.Quantum }), line)
	p := g.Add(4, 0)
	p.Request(us, 10, 77)
	for range 1000 {
		if g.Next() == unit.Never {
			break
		}
		g.Tick(g.Next())
	}
	if latest := p.Latest(credit.UETCounter); g.Next() != unit.Never || latest < 10 || latest > 150 {
		t.Errorf("next grant at %v after %d quanta", g.Next(), latest)
	}
}

// CBRC-20: a packet out of order counts only in the order of arrival.
func TestOrderOfTargets(t *testing.T) {
	for order, want := range map[credit.Order]int64{credit.OrderArrival: 2, credit.OrderPSN: 1} {
		g := NewGrantor(params(func(p *credit.Params) { p.AIMD, p.Order = true, order }), line)
		p := g.Add(4, 0)
		for _, ahead := range []int32{0, 3} {
			p.Packet(0, 0, ahead, 5)
		}
		if got := p.Stats().Indicated; got != want {
			t.Errorf("order %s: %d packets signal excess, want %d", order, got, want)
		}
	}
}

func TestSamplesAreChanges(t *testing.T) {
	g := NewGrantor(params(), line)
	g.Add(4, 0)
	p := g.Add(5, 1)
	p.Packet(0, 0, 0, 5)
	for _, want := range []int64{1, 0} {
		sum := int64(0)
		for peer, s := range g.Samples() {
			if sum += s.Indicated; peer != p {
				t.Errorf("a sample of receiver %d, which was idle", peer.Receiver())
			}
		}
		if sum != want {
			t.Errorf("%d packets with the excess signal, want %d", sum, want)
		}
	}
}
