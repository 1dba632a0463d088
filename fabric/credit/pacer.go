package credit

import "github.com/rackfab/rackfab/fabric/unit"

// list says where a receiver keeps a sender.
type list uint8

const (
	unlisted list = iota
	active        // its demand is not met
	idle          // its demand is met
)

// String names the list.
func (l list) String() string { return [...]string{"none", "active", "idle"}[l] }

// peer is what a receiver knows of one sender. Counts are cumulative, in quanta.
type peer struct {
	target  int64 // highest that it asked for
	latest  int64 // granted
	list    list
	aimd    coefficient
	guarded unit.Time // when it last had a grant above 0
	stats   PeerStats
}

// PeerStats tells how a receiver treats one sender (CBRC-35).
type PeerStats struct {
	Indicated int64 // data packets with the excess signal
	Firings   int64 // of the timer for this sender
	Quanta    int64 // granted
}

// demand gives what the sender asked for and has not been granted.
func (p *peer) demand() int64 { return max(0, p.target-p.latest) }

// slow gives what the sender was granted beyond what it asked for.
func (p *peer) slow() int64 { return max(0, p.latest-p.target) }

// Grant is credit for one sender: its cumulative number in quanta, and how many
// quanta more that is than before.
type Grant struct {
	Peer   int
	Number int64
	Quanta int64
	Slow   bool // beyond the sender's demand
}

// Pacer shares the rate of one receiving link among its senders: whoever has
// demand takes turns on the active list, whoever has none on the idle list when
// nobody has demand. The next firing of the timer is as far away as what was
// granted takes to come in, so that a smaller grant leaves time to the next
// sender (facts B2.4, CBRC-31, CBRC-42).
type Pacer struct {
	p      *Params
	rate   float64 // bytes per ps credited
	window int64   // quanta of slow credit that an idle sender may have
	peers  []peer
	active ring
	idle   ring
	due    unit.Time
}

// NewPacer makes the pacer of a receiver whose link runs at line, for so many
// senders.
func NewPacer(p *Params, line unit.Rate, senders int) Pacer {
	return Pacer{
		p:      p,
		rate:   float64(line) * p.RateShare / 8 / float64(unit.Second),
		window: Quanta(p.window(line)),
		peers:  make([]peer, senders),
		active: newRing(senders),
		idle:   newRing(senders),
	}
}

// Add makes room for one more sender, whose index is the next.
func (r *Pacer) Add() {
	r.peers = append(r.peers, peer{})
	r.active.grow()
	r.idle.grow()
}

// Packet takes the field target_pull of a data packet of the sender: a target,
// or the excess signal, which leaves the last target as it is (CBRC-22) and
// which original CBRC does not heed (CBRC-36).
func (r *Pacer) Packet(now unit.Time, sender int, wire uint32) {
	p := &r.peers[sender]
	excess := r.p.Counter.IsExcess(wire)
	if r.p.heeds() {
		p.aimd.packet(excess)
	}
	if excess {
		p.stats.Indicated++
		return
	}
	r.Request(now, sender, r.p.Counter.Decode(wire, p.target))
}

// Request takes a cumulative target, in quanta, that came outside of a data
// packet. One that is not above the last changes nothing.
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
		r.idle.remove(sender)
	}
	p.list = active
	p.guarded = now
	r.active.push(sender)
	r.due = max(r.due, now)
}

// Asked gives the sender's latest target, the number near which the next lies.
func (r *Pacer) Asked(sender int) int64 { return r.peers[sender].target }

// Latest gives the sender's cumulative credit, for ACKs.
func (r *Pacer) Latest(sender int) int64 { return r.peers[sender].latest }

// Stats tells how the sender was treated; Coefficient and List how it is.
func (r *Pacer) Stats(sender int) PeerStats { return r.peers[sender].stats }

// Coefficient gives what the sender's next grant is worth, in MTU.
func (r *Pacer) Coefficient(sender int) float64 {
	p := &r.peers[sender]
	if p.list == active {
		return p.aimd.active(r.p)
	}
	return float64(p.aimd.idle(r.p))
}

// List names the sender's list: active, idle or none.
func (r *Pacer) List(sender int) string { return r.peers[sender].list.String() }

// Next names the instant at which the timer fires, false if nobody is listed.
func (r *Pacer) Next() (unit.Time, bool) { return r.due, r.active.count+r.idle.count > 0 }

// Tick fires the timer if it is due. It grants to the head of the active list,
// or of the idle list if that is empty; a sender whose share is 0 is passed over
// in favour of the next. It is false if nothing was granted.
func (r *Pacer) Tick(now unit.Time) (Grant, bool) {
	if _, ok := r.Next(); !ok || now < r.due {
		return Grant{}, false
	}
	if r.active.count > 0 {
		if g, ok := r.each(now, &r.active, r.grantActive); ok || r.idle.count == 0 {
			return g, ok
		}
	}
	return r.each(now, &r.idle, r.grantIdle)
}

// zeroQuanta is how long the timer waits, as quanta granted, when nobody gets
// anything: 1024 bytes (facts B2.4).
const zeroQuanta = 4

// each tries the senders of a list in turn until one is granted something.
func (r *Pacer) each(now unit.Time, l *ring, grant func(unit.Time, int) Grant) (Grant, bool) {
	for range l.count {
		if g := grant(now, l.pop()); g.Quanta > 0 {
			r.due = now + r.span(g.Quanta)
			return g, true
		}
	}
	r.due = now + r.span(zeroQuanta)
	return Grant{}, false
}

// span gives how long so many quanta take to come in, at least 1 ps.
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
		r.active.push(sender)
	} else {
		p.list = idle
		r.idle.push(sender)
	}
	return g
}

func (r *Pacer) grantIdle(now unit.Time, sender int) Grant {
	p := &r.peers[sender]
	g := r.give(now, sender, Quanta(unit.Bytes(p.aimd.idle(r.p))*r.p.MTU))
	g.Slow = true
	if p.slow() < r.window && (g.Quanta > 0 || p.aimd.n == 0) {
		r.idle.push(sender)
	} else {
		p.list = unlisted
	}
	return g
}

// give counts a firing for the sender and what it is granted.
func (r *Pacer) give(now unit.Time, sender int, quanta int64) Grant {
	p := &r.peers[sender]
	p.aimd.fired()
	p.latest += quanta
	p.stats.Firings++
	p.stats.Quanta += quanta
	if quanta > 0 {
		p.guarded = now
	}
	return Grant{Peer: sender, Number: p.latest, Quanta: quanta}
}
