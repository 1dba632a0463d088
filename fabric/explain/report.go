package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// report builds the report at the end of the range.
func (o *observer) report() *Report {
	r := &Report{
		Scenario: o.s.Name, Scheme: o.scheme(), Link: o.link(o.X, o.Y), Class: int(o.Class), From: o.From, To: o.To,
		Frames: o.frames(o.X, o.Y), Held: o.held(o.X, o.Y, o.From, o.To),
		Pauses: []Pause{}, Victims: []Victim{}, Spread: []Spread{}, Rates: []Rate{},
	}
	if o.asked != nil {
		o.buffer(r)
	} else {
		o.intake(r)
	}
	if r.Chain = o.chain(); len(r.Chain) > 0 {
		r.First = o.first(&r.Chain[len(r.Chain)-1])
	}
	r.Victims = o.victims(r)
	r.Errors = o.failures()
	r.Spread = o.spread()
	r.Verdict = o.verdict(r)
	return r
}

// scheme names the congestion control of the range. It returns "dcqcn, then pcn" if the
// scheme at the end differs from that at the start.
func (o *observer) scheme() string {
	first, last := o.s.SchemeText(o.From+1), o.s.SchemeText(o.To)
	if first == last {
		return first
	}
	return first + ", then " + last
}

func (o *observer) link(x, y int) string { return o.s.Nodes[x].Name + "->" + o.s.Nodes[y].Name }

// frames counts the PAUSE frames that x sent to y in the range.
func (o *observer) frames(x, y int) (n int) {
	var sent []unit.Time
	if w := o.switches[x]; w != nil {
		sent = w.accounts[port(w.ends, y)].sent
	} else {
		sent = o.hosts[x].sent
	}
	for _, at := range sent {
		if at >= o.From && at < o.To {
			n++
		}
	}
	return n
}

// held returns how long x paused y in a range.
func (o *observer) held(x, y int, from, to unit.Time) unit.Time {
	return o.pausedPort(x, y).within(from, to)
}

// pausedPort returns the record of y's port to x.
func (o *observer) pausedPort(x, y int) *pausedPort {
	if w := o.switches[y]; w != nil {
		return &w.paused[port(w.ends, x)]
	}
	return &o.hosts[y].paused
}

// buffer reports on the account of y at switch x.
func (o *observer) buffer(r *Report) {
	w, a := o.switches[o.X], o.asked
	a.look(State{At: o.To - 1, Occupancy: a.last.Occupancy, Shared: a.last.Shared, Threshold: a.last.Threshold, Headroom: a.last.Headroom, PoolUsed: a.last.PoolUsed},
		func() []Holding { return w.holdings(a.port) })
	now := w.sw.Account(a.port, o.Class)
	r.Limits = Limits{
		Lossless: now.Lossless, Dynamic: now.Dynamic, Threshold: now.Threshold, XON: now.Threshold - now.Resume,
		Reserve: now.Reserve, Headroom: now.HeadroomSize, Pool: now.PoolSize, NeverPause: !now.Lossless,
	}
	if now.Dynamic {
		r.Limits.Threshold, r.Limits.Alpha = now.Highest, math.Ldexp(1, -now.AlphaShift)
	}
	r.Peak, r.Closest, r.Timeline = a.peak.State, a.closest.State, a.timeline
	for i := range r.Timeline {
		r.Timeline[i].Held = o.held(o.X, o.Y, a.start(i), a.start(i+1))
	}
	for _, p := range w.accounts[a.port].pauses {
		if o.overlaps(&p) {
			r.Pauses = append(r.Pauses, p)
		}
	}
	for flow, rate := range o.rates {
		if a.through[flow] {
			r.Rates = append(r.Rates, *rate)
		}
	}
	slices.SortFunc(r.Rates, func(a, b Rate) int { return cmp.Compare(a.Flow, b.Flow) })
}

func (o *observer) overlaps(p *Pause) bool { return p.At < o.To && (p.Until < 0 || p.Until > o.From) }

// intake reports on the receive buffer of NIC x.
func (o *observer) intake(r *Report) {
	h := o.hosts[o.X]
	_, xoff, xon, ok := h.machine.Intake(o.Class)
	r.Limits = Limits{Lossless: ok, Threshold: xoff, XON: xoff - xon, NeverPause: !ok}
	r.Peak = State{At: h.mostAt, Occupancy: h.most, Shared: h.most, Threshold: xoff}
	r.Closest = r.Peak
	for _, p := range h.pauses {
		if o.overlaps(&p) {
			r.Pauses = append(r.Pauses, p)
		}
	}
}

// pausesOf lists the pauses that x sent to y in the whole run, in order.
func (o *observer) pausesOf(x, y int) []Pause {
	if w := o.switches[x]; w != nil {
		return w.accounts[port(w.ends, y)].pauses
	}
	return o.hosts[x].pauses
}

// chain leads from the first PAUSE of the range to the congestion. If a PAUSE was sent
// because the node behind the egress port had paused that port, the next step is the
// latest earlier PAUSE of that node.
func (o *observer) chain() (steps []Step) {
	x, y := o.X, o.Y
	first := slices.IndexFunc(o.pausesOf(x, y), func(p Pause) bool { return o.overlaps(&p) })
	if first < 0 {
		return nil
	}
	p := &o.pausesOf(x, y)[first]
	for seen := map[[2]int]bool{}; !seen[[2]int{x, y}]; {
		seen[[2]int{x, y}] = true
		step := Step{
			Link: o.link(x, y), Frames: o.frames(x, y), Paused: o.held(x, y, o.From, o.To), At: p.At, Bytes: p.Occupancy, Cause: p.Cause, x: x, y: y,
		}
		if o.switches[x] != nil {
			step.Kept = o.kept(o.pausesOf(x, y))
		}
		steps = append(steps, step)
		if p.Cause.Kind != Downstream {
			break
		}
		x, y = p.Cause.peer, x
		earlier := slices.IndexFunc(o.pausesOf(x, y), func(q Pause) bool { return q.At > p.At })
		if earlier < 0 {
			earlier = len(o.pausesOf(x, y))
		}
		if earlier == 0 {
			break
		}
		p = &o.pausesOf(x, y)[earlier-1]
	}
	return steps
}

// kept summarizes the pauses of a link that overlap the range.
func (o *observer) kept(pauses []Pause) *Kept {
	k := &Kept{}
	var arrived, left unit.Bytes
	var span unit.Time
	for i := range pauses {
		p := &pauses[i]
		if !o.overlaps(p) {
			continue
		}
		k.Pauses++
		switch p.Cause.Kind {
		case Standing:
			k.Standing++
		case Downstream:
			k.Held++
		case Overload, SlowHost:
			k.Overload++
		}
		if k.Pauses == 1 || p.Cause.Queue < k.Least {
			k.Least = p.Cause.Queue
		}
		if p.Cause.Queue > k.Most {
			k.Most, k.Drain = p.Cause.Queue, p.Cause.Rate.Serialise(p.Cause.Queue)
		}
		if k.Pauses > 1 {
			open := p.At - p.Since
			span, arrived, left = span+open, arrived+p.Arrived.In(open), left+p.Left.In(open)
		}
	}
	k.Arrived, k.Left = unit.Over(arrived, span), unit.Over(left, span)
	return k
}

// passes reports whether a flow passes the congestion at the end of a chain.
func (o *observer) passes(flow fabric.FlowID, root *Step) bool {
	w := o.switches[root.x]
	if w == nil {
		if i := int64(flow) - int64(topology.FirstConnection); i >= 0 && i < int64(len(o.pairs)) {
			return o.pairs[i].From == root.x || o.pairs[i].To == root.x
		}
		return int(flow) < len(o.s.Flows) && o.s.Flows[flow].To == root.x
	}
	to, known := w.egress[flow]
	return known && w.ends[to].Peer == root.Cause.peer
}

// victims lists the flows that waited at y while it was paused, and that do not pass
// the congestion.
func (o *observer) victims(r *Report) []Victim {
	if o.asked == nil || len(r.Chain) == 0 {
		return []Victim{}
	}
	if p := o.pausedPort(o.X, o.Y); p.Running() {
		o.released(o.Y, port(o.s.PortMap()[o.Y], o.X), p.Since(), o.To)
	}
	list := []Victim{}
	for flow, v := range o.waited {
		if !o.passes(flow, &r.Chain[len(r.Chain)-1]) {
			list = append(list, *v)
		}
	}
	slices.SortFunc(list, func(a, b Victim) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Flow, b.Flow)) })
	return list
}

// spread lists the links on which y sent PAUSE itself.
func (o *observer) spread() []Spread {
	list := []Spread{}
	w := o.switches[o.Y]
	if w == nil {
		return list
	}
	for _, end := range w.ends {
		if n := o.frames(o.Y, end.Peer); n > 0 && end.Peer != o.X {
			list = append(list, Spread{o.link(o.Y, end.Peer), n})
		}
	}
	return list
}
