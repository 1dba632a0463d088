package explain

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/unit"
)

// longestBefore bounds the time before the first PAUSE with which a victim's goodput is
// compared.
const longestBefore = unit.Millisecond

// secondPass observes the same run a second time, with the results of the first: it
// collects the flows whose frames filled the queue of the first cause, and the payload
// delivered of the victims.
type secondPass struct {
	o       *observer
	dscp    [64]fabric.Priority // class of each code point at a NIC
	fill    span
	arrived map[fabric.FlowID]unit.Bytes
	total   unit.Bytes
	victims map[fabric.FlowID]*Victim
	paused  span // from the first to the last instant of the range at which y was paused
}

// first returns the queue at the end of a chain, and the time in which it grew.
func (o *observer) first(root *Step) *Fill {
	c := &root.Cause
	f := &Fill{
		Node: o.s.Nodes[root.x].Name, Egress: c.Egress, From: c.rise.since, To: c.rise.at, Before: c.rise.from, Most: c.rise.most,
		Rate: c.Rate, Sources: []Source{},
	}
	if c.Kind == SlowHost {
		f.Egress = ""
	}
	return f
}

// secondPass returns the observer of the second run.
func (o *observer) secondPass(l *lab.Lab, r *Report) *secondPass {
	root := &r.Chain[len(r.Chain)-1]
	s := &secondPass{o: o, dscp: o.s.DSCPMap(), fill: span{r.First.From, r.First.To}, arrived: map[fabric.FlowID]unit.Bytes{}, victims: map[fabric.FlowID]*Victim{}}
	s.follow(r)
	if root.Cause.Kind == SlowHost {
		l.Look(root.x, &node.Tap{Frame: s.frame})
	}
	l.Listen = func(at int, notes []fabric.Note) {
		for i := range notes {
			n := &notes[i]
			switch n.Kind {
			case fabric.Enqueued:
				if at == root.x && n.Port == root.Cause.port && n.Priority == o.Class {
					s.arrives(n.At, n.Flow, n.Bytes())
				}
			case fabric.Delivered:
				s.delivered(n)
			default:
			}
		}
	}
	return s
}

// follow prepares the observation of the victims. There are none unless y was paused.
func (s *secondPass) follow(r *Report) {
	first := unit.Never
	for _, step := range r.Chain {
		if spans := s.o.side(step.y, step.link).pausedUntil(s.o.To); len(spans) > 0 {
			first = min(first, spans[0].from)
		}
	}
	for _, p := range s.o.side(s.o.Y, s.o.Link).pausedUntil(s.o.To) {
		if p.to > s.o.From && p.from < s.o.To {
			if s.paused.to == 0 {
				s.paused.from = max(p.from, s.o.From)
			}
			s.paused.to = min(p.to, s.o.To)
		}
	}
	for i := range r.Victims {
		v, start := &r.Victims[i], unit.Time(0)
		if int(v.id) < len(s.o.s.Flows) {
			start = min(s.o.s.Flows[v.id].Start, first)
		}
		v.before = span{max(first-longestBefore, first-(first-start)/2), first}
		s.victims[v.id] = v
	}
}

// frame counts the frames that arrive at a slow host.
func (s *secondPass) frame(at unit.Time, _ fabric.Port, way node.Way, f *frame.Frame) {
	if way == node.In && classOf(f, &s.dscp) == s.o.Class {
		s.arrives(at, switching.FlowOf(f), f.Len())
	}
}

func (s *secondPass) arrives(at unit.Time, flow fabric.FlowID, length unit.Bytes) {
	if at > s.fill.from && at <= s.fill.to {
		s.arrived[flow] += length
		s.total += length
	}
}

func (s *secondPass) delivered(n *fabric.Note) {
	v := s.victims[n.Flow]
	switch {
	case v == nil:
	case n.At > v.before.from && n.At <= v.before.to:
		v.deliveredBefore += n.Bytes()
	case n.At > s.paused.from && n.At <= s.paused.to:
		v.delivered += n.Bytes()
	}
}

// finish adds the observations to the report.
func (s *secondPass) finish(r *Report) {
	r.First.Arrived = unit.Over(s.total, s.fill.to-s.fill.from)
	r.First.Sources = s.sources()
	length := s.paused.to - s.paused.from
	for _, v := range s.victims {
		v.Goodput, v.Before = unit.Over(v.delivered, length), unit.Over(v.deliveredBefore, v.before.to-v.before.from)
		v.Less = max(0, v.Before.In(length)-v.delivered)
	}
}

// sources lists the flows whose frames filled the queue. The flows of a burst or
// workload are one source.
func (s *secondPass) sources() []Source {
	type sum struct {
		Source
		bytes unit.Bytes
		from  map[int]bool
	}
	sums := map[string]*sum{}
	for flow, bytes := range s.arrived {
		name, from := s.o.name(flow), -1
		if int(flow) < len(s.o.s.Flows) {
			f := s.o.s.Flows[flow]
			if from = f.From; f.Burst >= 0 {
				name = s.o.s.Bursts[f.Burst].Name
			}
		}
		one := sums[name]
		if one == nil {
			one = &sum{Source: Source{Name: name, Senders: []string{}}, from: map[int]bool{}}
			sums[name] = one
		}
		one.Flows++
		one.bytes += bytes
		one.from[from] = true
	}
	list := []Source{}
	for _, one := range sums {
		for i := range s.o.s.Nodes {
			if one.from[i] {
				one.Senders = append(one.Senders, s.o.s.Nodes[i].Name)
			}
		}
		one.Arrived = unit.Over(one.bytes, s.fill.to-s.fill.from)
		list = append(list, one.Source)
	}
	slices.SortFunc(list, func(a, b Source) int { return cmp.Or(cmp.Compare(b.Arrived, a.Arrived), cmp.Compare(a.Name, b.Name)) })
	return list
}
