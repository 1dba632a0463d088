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
		Scenario: o.s.Name, Scheme: o.scheme(), Link: o.link(o.X, o.Link), Class: int(o.Class), From: o.From, To: o.To,
		Frames: o.frames(o.X, o.Link), Paused: o.side(o.Y, o.Link).paused(o.From, o.To),
		Pauses: []Pause{}, Victims: []Victim{}, Spread: []Spread{}, Rates: []Rate{},
	}
	if o.history != nil {
		o.switchBuffer(r)
	} else {
		o.hostBuffer(r)
	}
	for _, p := range o.side(o.X, o.Link).pauses {
		if o.overlaps(&p) {
			r.Pauses = append(r.Pauses, p)
		}
	}
	if r.Chain = o.chain(); len(r.Chain) > 0 {
		r.First = o.first(&r.Chain[len(r.Chain)-1])
	}
	r.Victims = o.victims(r)
	for _, e := range o.errors {
		if e.Link != "" {
			r.Errors = append(r.Errors, e)
		}
	}
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

// link returns the name of the direction of a link from node x on.
func (o *observer) link(x, link int) string {
	return o.s.DirectionName(x, o.ends[x][o.port(x, link)])
}

// frames counts the PAUSE frames that x sent on a link in the range.
func (o *observer) frames(x, link int) (n int) {
	for _, at := range o.side(x, link).sent {
		if at >= o.From && at < o.To {
			n++
		}
	}
	return n
}

// side returns the observation of x's port to a link.
func (o *observer) side(x, link int) *side { return &o.sides[x][o.port(x, link)] }

// switchBuffer reports on the account of y at switch x.
func (o *observer) switchBuffer(r *Report) {
	w, h := o.switches[o.X], o.history
	last := h.last
	last.At, last.Flows = o.To-1, nil
	h.record(last, func() []Holding { return w.holdings(h.port) })
	now := w.sw.Account(h.port, o.Class)
	r.Limits = Limits{
		Lossless: now.Lossless, Dynamic: now.Dynamic, Threshold: now.Threshold, XON: now.Threshold - now.Resume,
		Reserve: now.Reserve, Headroom: now.HeadroomSize, Pool: now.PoolSize, NeverPause: !now.Lossless,
	}
	if now.Dynamic {
		r.Limits.Threshold, r.Limits.Alpha = now.Highest, math.Ldexp(1, -now.AlphaShift)
	}
	r.Peak, r.Closest, r.Timeline = h.peak.State, h.closest.State, h.timeline
	for i := range r.Timeline {
		r.Timeline[i].Paused = o.side(o.Y, o.Link).paused(h.start(i), h.start(i+1))
	}
	for flow, rate := range o.rates {
		if h.flows[flow] {
			r.Rates = append(r.Rates, *rate)
		}
	}
	slices.SortFunc(r.Rates, func(a, b Rate) int { return cmp.Compare(a.Flow, b.Flow) })
}

// overlaps reports whether a pause overlaps the range.
func (o *observer) overlaps(p *Pause) bool { return p.At < o.To && (p.Until < 0 || p.Until > o.From) }

// hostBuffer reports on the receive buffer of NIC x.
func (o *observer) hostBuffer(r *Report) {
	_, xoff, xon, ok := o.hosts[o.X].Intake(o.Class)
	r.Limits = Limits{Lossless: ok, Threshold: xoff, XON: xoff - xon, NeverPause: !ok}
	r.Peak = o.peak
	r.Peak.Threshold = xoff
	r.Closest = r.Peak
}

// chain leads from the first PAUSE of the range to the congestion. If a PAUSE was sent
// because the node behind the egress port had paused that port, the next step is the
// latest earlier PAUSE of that node.
func (o *observer) chain() (steps []Step) {
	x, y, link := o.X, o.Y, o.Link
	pauses := o.side(x, link).pauses
	first := slices.IndexFunc(pauses, func(p Pause) bool { return o.overlaps(&p) })
	if first < 0 {
		return nil
	}
	p := &pauses[first]
	for seen := map[[2]int]bool{}; !seen[[2]int{x, link}]; {
		seen[[2]int{x, link}] = true
		step := Step{
			Link: o.link(x, link), Frames: o.frames(x, link), Paused: o.side(y, link).paused(o.From, o.To), At: p.At, Bytes: p.Occupancy, Cause: p.Cause, x: x, y: y, link: link,
		}
		if o.switches[x] != nil {
			step.Kept = o.kept(pauses)
		}
		steps = append(steps, step)
		if p.Cause.Kind != Downstream {
			break
		}
		x, y, link = p.Cause.peer, x, p.Cause.link
		pauses = o.side(x, link).pauses
		later, _ := slices.BinarySearchFunc(pauses, p.At+1, func(q Pause, at unit.Time) int { return cmp.Compare(q.At, at) })
		if later == 0 {
			break
		}
		p = &pauses[later-1]
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
			k.Downstream++
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
	return known && w.ends[to].Link == root.Cause.link
}

// victims lists the flows that waited at y while it was paused, and that do not pass
// the congestion.
func (o *observer) victims(r *Report) []Victim {
	if o.history == nil || len(r.Chain) == 0 {
		return []Victim{}
	}
	if clock := &o.side(o.Y, o.Link).clock; clock.Running() {
		o.resumed(o.Y, o.port(o.Y, o.Link), clock.Since(), o.To)
	}
	list := []Victim{}
	for flow, v := range o.waiting {
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
	for _, end := range o.ends[o.Y] {
		if n := o.frames(o.Y, end.Link); n > 0 && end.Link != o.Link {
			list = append(list, Spread{o.link(o.Y, end.Link), n})
		}
	}
	return list
}
