package explain

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// observer observes every node of a run.
type observer struct {
	Question
	s        *topology.Scenario
	l        *lab.Lab
	pairs    []topology.Connection // of commands
	ends     [][]topology.End      // by node and port
	sides    [][]side              // by node and port
	switches []*watcher            // by node, nil for a NIC
	hosts    []*nic.NIC            // by node, nil for a switch
	history  *history              // nil if x is a NIC
	peak     State                 // of x at its maximum occupancy in the range, if x is a NIC
	waiting  map[fabric.FlowID]*Victim
	rates    map[fabric.FlowID]*Rate
	errors   [2]Errors // from x to y, and back
}

func observe(l *lab.Lab, s *topology.Scenario, q Question) *observer {
	o := &observer{
		Question: q, s: s, l: l, pairs: s.Connections(), ends: s.PortMap(), switches: make([]*watcher, len(s.Nodes)), hosts: make([]*nic.NIC, len(s.Nodes)),
		waiting: map[fabric.FlowID]*Victim{}, rates: map[fabric.FlowID]*Rate{},
	}
	for i, ends := range o.ends {
		o.sides = append(o.sides, make([]side, len(ends)))
		switch m := l.Machine(i).(type) {
		case *switching.Switch:
			w := newWatcher(o, i, m)
			if i == q.X {
				o.history = newHistory(q, o.port(q.X, q.Link))
				w.history, o.history.last = o.history, w.state(0, o.history.port)
			}
			o.switches[i] = w
			l.Look(i, &node.Tap{Frame: w.frame, Event: w.event})
		case *nic.NIC:
			o.hosts[i] = m
			l.Look(i, &node.Tap{
				Frame: func(at unit.Time, _ fabric.Port, way node.Way, f *frame.Frame) {
					o.linkError(ends[0], at, way, f)
				},
				Event: func(at unit.Time, notes []fabric.Note) { o.atHost(i, at, notes) },
			})
		}
	}
	return o
}

// port returns the port of a node at one end of a link.
func (o *observer) port(node, link int) fabric.Port {
	return fabric.Port(slices.IndexFunc(o.ends[node], func(e topology.End) bool { return e.Link == link }))
}

// atHost handles the notes of a NIC at an instant.
func (o *observer) atHost(index int, at unit.Time, notes []fabric.Note) {
	bytes, xoff, _, ok := o.hosts[index].Intake(o.Class)
	rise := &o.sides[index][0].rise
	if ok {
		rise.set(at, bytes)
	}
	now := State{At: at, Occupancy: bytes, Shared: bytes, Threshold: xoff}
	if ok && index == o.X && bytes > o.peak.Occupancy && at >= o.From && at < o.To {
		o.peak = now
	}
	for i := range notes {
		n := &notes[i]
		switch {
		case n.Kind == fabric.RateChanged:
			o.rate(n)
		case n.Priority == o.Class:
			o.pfc(index, n, func() Pause {
				node := &o.s.Nodes[index]
				return Pause{State: now, Cause: Cause{Kind: SlowHost, Egress: node.Name, Bytes: bytes, Queue: bytes, Rate: node.NIC.Engine.Absorb, rise: rise.growth()}}
			})
		}
	}
}

// linkError counts a frame from the peer at the end of a link if it was lost or damaged on the
// link in question.
func (o *observer) linkError(from topology.End, at unit.Time, way node.Way, f *frame.Frame) {
	direction := slices.Index([]int{o.X, o.Y}, from.Peer)
	if way != node.Gone && way != node.Damaged || from.Link != o.Link || at < o.From || at >= o.To {
		return
	}
	e := &o.errors[direction]
	e.Link = o.link(from.Peer, o.Link)
	if way == node.Gone {
		e.Lost++
	} else {
		e.Damaged++
	}
	if f.Class() == frame.ClassPFC {
		e.PFC++
	}
}

// rate records the CC rate limit of a flow: at the start of the range, at its end, and
// the minimum between.
func (o *observer) rate(n *fabric.Note) {
	r := o.rates[n.Flow]
	if r == nil {
		r = &Rate{Flow: o.name(n.Flow), First: n.OldRate(), Least: n.OldRate(), Last: n.OldRate()}
		o.rates[n.Flow] = r
	}
	now := n.Rate()
	switch {
	case n.At < o.From:
		r.First, r.Least, r.Last = now, now, now
	case n.At < o.To:
		r.Last, r.Least = now, min(r.Least, now)
	}
}

// resumed records the flows that waited at y during a pause by x that has ended.
func (o *observer) resumed(at int, p fabric.Port, from, to unit.Time) {
	if at != o.Y || o.history == nil || to <= o.From || from >= o.To {
		return
	}
	waiting := map[fabric.FlowID]unit.Bytes{}
	if w := o.switches[at]; w != nil {
		if o.ends[at][p].Link != o.Link {
			return
		}
		w.sw.Waiting(o.Class, func(_, out fabric.Port, flow fabric.FlowID, length unit.Bytes) {
			if out == p {
				waiting[flow] += length
			}
		})
	} else {
		for _, s := range o.hosts[at].Stats().Senders {
			if s.Started && !s.Completed {
				waiting[s.Flow] = 0
			}
		}
	}
	for flow, n := range waiting {
		v := o.waiting[flow]
		if v == nil {
			v = &Victim{Flow: o.name(flow), id: flow}
			v.From, v.To = o.path(flow)
			o.waiting[flow] = v
		}
		v.Bytes = max(v.Bytes, n)
		v.Times++
		v.Paused += min(to, o.To) - max(from, o.From)
	}
}

// path returns the NICs at the ends of a flow. It returns "" for a connection of
// commands, which has frames in both directions.
func (o *observer) path(flow fabric.FlowID) (from, to string) {
	if int(flow) < len(o.s.Flows) {
		f := o.s.Flows[flow]
		return o.s.Nodes[f.From].Name, o.s.Nodes[f.To].Name
	}
	return "", ""
}

// name returns the name of a flow or of a connection of commands.
func (o *observer) name(flow fabric.FlowID) string {
	if int(flow) < len(o.s.Flows) {
		return o.s.Flows[flow].Name
	}
	if i := int64(flow) - int64(topology.FirstConnection); i >= 0 && i < int64(len(o.pairs)) {
		return o.s.Nodes[o.pairs[i].From].Name + "=>" + o.s.Nodes[o.pairs[i].To].Name
	}
	return fmt.Sprintf("flow %d", flow)
}
