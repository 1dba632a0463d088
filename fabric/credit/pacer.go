package credit

import (
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// list is the list on which a receiver keeps a sender.
type list uint8

const (
	unlisted list = iota
	active        // the sender has demand left
	idle          // the sender's demand is met
)

// String returns the name of the list.
func (l list) String() string { return [...]string{"none", "active", "idle"}[l] }

// peer is a receiver's state for one sender. Counts are cumulative, in quanta.
type peer struct {
	target  int64 // highest requested
	latest  int64 // granted
	list    list
	aimd    coefficient
	guarded unit.Time // time of the last grant above 0
	stats   PeerStats
}

// PeerStats holds a receiver's counters for one sender (CBRC-35).
type PeerStats struct {
	Indicated int64 // data packets with the excess signal
	Firings   int64 // timer firings for this sender
	Quanta    int64 // granted
}

// demand returns the quanta requested and not yet granted.
func (p *peer) demand() int64 { return max(0, p.target-p.latest) }

// slow returns the quanta granted beyond the request.
func (p *peer) slow() int64 { return max(0, p.latest-p.target) }

// Grant is credit for one sender: its cumulative number in quanta, and the
// increase since the previous grant.
type Grant struct {
	Peer   int
	Number int64
	Quanta int64
	Slow   bool // beyond the sender's demand
}

// Pacer shares the rate of one receiving link among its senders. Senders with
// demand take turns on the active list. Senders without demand take turns on
// the idle list while the active list is empty. The interval to the next firing
// of the timer is the time that the granted bytes take to arrive, so that a
// smaller grant leaves time to the next sender (facts B2.4, CBRC-31, CBRC-42).
type Pacer struct {
	p      *Params
	rate   float64 // credited bytes per ps
	window int64   // maximum slow credit of an idle sender, in quanta
	peers  []peer
	active ring.Ring[int] // contains each sender at most once
	idle   ring.Ring[int]
	due    unit.Time
}

// NewPacer returns the pacer of a receiver whose link runs at line, for the
// given number of senders.
func NewPacer(p *Params, line unit.Rate, senders int) Pacer {
	return Pacer{
		p:      p,
		rate:   float64(line) * p.RateShare / 8 / float64(unit.Second),
		window: Quanta(p.window(line)),
		peers:  make([]peer, senders),
	}
}

// Add adds a sender with the next index.
func (r *Pacer) Add() { r.peers = append(r.peers, peer{}) }

// Packet processes the field target_pull of a sender's data packet: a target or
// the excess signal. The excess signal does not change the last target
// (CBRC-22), and original CBRC ignores it (CBRC-36).
func (r *Pacer) Packet(now unit.Time, sender int, wire uint32) {
	p := &r.peers[sender]
	excess := r.p.Counter.IsExcess(wire)
	if r.p.reacts() {
		p.aimd.packet(excess)
	}
	if excess {
		p.stats.Indicated++
		return
	}
	r.Request(now, sender, r.p.Counter.Decode(wire, p.target))
}

// Request processes a cumulative target, in quanta, that arrived outside of a
// data packet. A target that is not above the last one is ignored.
func (r *Pacer) Request(now unit.Time, sender int, target int64) {
	p := &r.peers[sender]
	if target <= p.target {
		return
	}
	p.target = target
	if p.list == active || p.demand() == 0 {
		return
	}
	if p.list == idle {
		r.unlist(sender)
	}
	p.list = active
	p.guarded = now
	r.active.Push(sender)
	r.due = max(r.due, now)
}

// unlist removes a sender from the idle list by rotating the list once.
func (r *Pacer) unlist(sender int) {
	for range r.idle.Len() {
		if s := r.idle.Pop(); s != sender {
			r.idle.Push(s)
		}
	}
}

// Asked returns the sender's latest target, near which the next one is decoded.
func (r *Pacer) Asked(sender int) int64 { return r.peers[sender].target }

// Latest returns the sender's cumulative credit, for ACKs.
func (r *Pacer) Latest(sender int) int64 { return r.peers[sender].latest }

// Stats returns the sender's counters; Coefficient and List return its present
// state.
func (r *Pacer) Stats(sender int) PeerStats { return r.peers[sender].stats }

// Coefficient returns the size of the sender's next grant, in MTU.
func (r *Pacer) Coefficient(sender int) float64 {
	p := &r.peers[sender]
	if p.list == active {
		return p.aimd.active(r.p)
	}
	return float64(p.aimd.idle(r.p))
}

// List returns the name of the sender's list: active, idle or none.
func (r *Pacer) List(sender int) string { return r.peers[sender].list.String() }

// Next returns the instant at which the timer fires, or false if no sender is
// listed.
func (r *Pacer) Next() (unit.Time, bool) { return r.due, r.active.Len()+r.idle.Len() > 0 }

// Tick fires the timer if it is due. It grants to the head of the active list,
// or of the idle list if the active list is empty. A sender whose share is 0 is
// skipped. Tick returns false if nothing was granted.
func (r *Pacer) Tick(now unit.Time) (Grant, bool) {
	if _, ok := r.Next(); !ok || now < r.due {
		return Grant{}, false
	}
	if r.active.Len() > 0 {
		if g, ok := r.each(now, &r.active, r.grantActive); ok || r.idle.Len() == 0 {
			return g, ok
		}
	}
	return r.each(now, &r.idle, r.grantIdle)
}

// zeroQuanta sets the timer's interval if no sender is granted anything, as the
// number of quanta: 1024 bytes (facts B2.4).
const zeroQuanta = 4

// each tries the senders of a list in turn until one of them is granted credit.
func (r *Pacer) each(now unit.Time, l *ring.Ring[int], grant func(unit.Time, int) Grant) (Grant, bool) {
	for range l.Len() {
		sender := l.Pop()
		r.peers[sender].aimd.fired() // before the grant: at the first firing j is 1 (CBRC-15)
		if g := grant(now, sender); g.Quanta > 0 {
			r.due = now + r.span(g.Quanta)
			return g, true
		}
	}
	r.due = now + r.span(zeroQuanta)
	return Grant{}, false
}

// span returns the time in which the quanta arrive, at least 1 ps.
func (r *Pacer) span(quanta int64) unit.Time {
	return unit.Time(float64(quanta*int64(Quantum))/r.rate) + 1
}

func (r *Pacer) grantActive(now unit.Time, sender int) Grant {
	p := &r.peers[sender]
	share := Quanta(unit.Bytes(p.aimd.active(r.p) * float64(r.p.MTU)))
	if share == 0 && r.p.Guard > 0 && now-p.guarded >= r.p.Guard {
		share = 1
	}
	g := r.give(now, sender, min(share, p.demand()))
	if p.demand() > 0 {
		r.active.Push(sender)
	} else {
		p.list = idle
		r.idle.Push(sender)
	}
	return g
}

func (r *Pacer) grantIdle(now unit.Time, sender int) Grant {
	p := &r.peers[sender]
	g := r.give(now, sender, Quanta(unit.Bytes(p.aimd.idle(r.p))*r.p.MTU))
	g.Slow = true
	if p.slow() < r.window && (g.Quanta > 0 || p.aimd.n == 0) {
		r.idle.Push(sender)
	} else {
		p.list = unlisted
	}
	return g
}

// give counts a firing of the timer for the sender, and the quanta granted to it.
func (r *Pacer) give(now unit.Time, sender int, quanta int64) Grant {
	p := &r.peers[sender]
	p.latest += quanta
	p.stats.Firings++
	p.stats.Quanta += quanta
	if quanta > 0 {
		p.guarded = now
	}
	return Grant{Peer: sender, Number: p.latest, Quanta: quanta}
}
