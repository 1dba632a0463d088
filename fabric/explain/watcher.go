package explain

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// watcher observes one switch.
type watcher struct {
	o        *observer
	sw       *switching.Switch
	index    int
	ends     []topology.End
	sides    []side                        // by port
	accounts []account                     // by ingress port
	arriving fabric.Port                   // ingress port of this event's frame, -1 for none
	egress   map[fabric.FlowID]fabric.Port // egress port of each flow of the class in question
	history  *history                      // of the account in question, nil if it is at another node
	dscp     [64]fabric.Priority           // class of each code point
}

// account is the observation of one ingress port.
type account struct {
	since unit.Time // instant at which it began to fill
	to    []share   // by egress port
}

// share is the part of an account that waits for one egress port.
type share struct {
	arrived unit.Bytes // from the ingress port since account.since
	// At account.since: the bytes of the account that waited for the port, all bytes that
	// waited for it, all bytes that had ever joined its queue, and how long it had been
	// paused.
	before, queued, joined unit.Bytes
	paused                 unit.Time
}

func newWatcher(o *observer, index int, sw *switching.Switch) *watcher {
	w := &watcher{
		o: o, sw: sw, dscp: o.s.DSCPMapAt(index), index: index, ends: o.ends[index], sides: o.sides[index],
		accounts: make([]account, len(o.ends[index])), arriving: -1, egress: map[fabric.FlowID]fabric.Port{},
	}
	for i := range w.accounts {
		w.accounts[i].to = make([]share, len(w.ends))
	}
	return w
}

// classOf returns the traffic class of a frame. It returns fabric.Priorities for
// control frames, which have no class.
func classOf(f *frame.Frame, dscp *[64]fabric.Priority) fabric.Priority {
	if c := f.Class(); c != frame.ClassRoCE && c != frame.ClassUET {
		return fabric.Priorities
	}
	return dscp[f.DSCP()&63]
}

// frame detects the start of the filling of an account, and the egress ports of flows.
// Control frames count as filling because a CNM may be of the class in question.
func (w *watcher) frame(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
	class := classOf(f, &w.dscp)
	matches := class == w.o.Class
	switch {
	case way == node.Damaged || way == node.Gone:
		w.o.linkError(w.ends[port], at, way, f)
	case way == node.Out:
		if matches {
			w.egress[switching.FlowOf(f)] = port
		}
	case matches || class == fabric.Priorities:
		if matches && w.history != nil && port == w.history.port {
			w.history.entered(at, switching.FlowOf(f))
		}
		if w.sw.Account(port, w.o.Class).Occupancy == 0 {
			w.begin(at, port)
		}
		w.arriving = port
	}
}

// begin sets the instant at which an account begins to fill.
func (w *watcher) begin(at unit.Time, port fabric.Port) {
	a := &w.accounts[port]
	a.since = at
	for e := range a.to {
		a.to[e] = share{paused: w.sides[e].clock.Total(at)}
		a.to[e].joined, a.to[e].queued, _ = w.sw.Joined(fabric.Port(e), w.o.Class)
	}
	if w.sw.Account(port, w.o.Class).Occupancy > 0 {
		w.sw.Waiting(w.o.Class, func(from, to fabric.Port, _ fabric.FlowID, length unit.Bytes) {
			if from == port {
				a.to[to].before += length
			}
		})
	}
}

// event handles the notes of the switch at an instant.
func (w *watcher) event(at unit.Time, notes []fabric.Note) {
	for i := range notes {
		n := &notes[i]
		if n.Priority != w.o.Class {
			continue
		}
		switch n.Kind {
		case fabric.Enqueued:
			if w.arriving >= 0 {
				w.accounts[w.arriving].to[n.Port].arrived += n.Bytes()
			}
			w.sides[n.Port].rise.set(at, n.Queue())
		case fabric.Dequeued:
			w.sides[n.Port].rise.set(at, n.Queue())
		default:
			w.o.pfc(w.index, n, func() Pause { return w.pause(at, n.Port) })
			if n.Kind == fabric.ResumeSent {
				w.begin(at, n.Port)
			}
		}
	}
	w.arriving = -1
	if w.history != nil {
		w.history.record(w.state(at, w.history.port), func() []Holding { return w.holdings(w.history.port) })
	}
}

// pause describes the first PAUSE frame of a pause.
func (w *watcher) pause(at unit.Time, port fabric.Port) Pause {
	a := &w.accounts[port]
	p := Pause{State: w.state(at, port), Since: a.since, Cause: w.cause(at, port)}
	p.Flows = w.holdings(port)
	to := &a.to[p.Cause.port]
	p.Arrived = unit.Over(to.arrived, at-a.since)
	p.Left = unit.Over(to.arrived+to.before-p.Cause.Bytes, at-a.since)
	return p
}

// state returns the present state of an account, without its flows.
func (w *watcher) state(at unit.Time, port fabric.Port) State {
	a := w.sw.Account(port, w.o.Class)
	return State{At: at, Occupancy: a.Occupancy, Shared: a.Shared, Threshold: a.Threshold, Headroom: a.Headroom, PoolUsed: a.PoolUsed}
}

// cause returns the egress port that most of the account waits for, and why that port is
// congested.
func (w *watcher) cause(at unit.Time, port fabric.Port) Cause {
	waiting, ingress := make([]unit.Bytes, len(w.ends)), make([]map[fabric.Port]bool, len(w.ends))
	w.sw.Waiting(w.o.Class, func(from, to fabric.Port, _ fabric.FlowID, length unit.Bytes) {
		if from == port {
			waiting[to] += length
		}
		if ingress[to] == nil {
			ingress[to] = map[fabric.Port]bool{}
		}
		ingress[to][from] = true
	})
	worst := slices.Index(waiting, slices.Max(waiting))
	a, end := &w.accounts[port], &w.ends[worst]
	then := &a.to[worst]
	joined, queued, paused := w.sw.Joined(fabric.Port(worst), w.o.Class)
	c := Cause{
		Kind: Overload, Egress: w.o.s.PeerName(*end), Bytes: waiting[worst], Queue: queued, Before: then.queued, Ports: len(ingress[worst]),
		Load: unit.Over(joined-then.joined, at-a.since), Rate: w.o.s.Links[end.Link].Rate, peer: end.Peer, link: end.Link,
		port: fabric.Port(worst), rise: w.sides[worst].rise.growth(),
	}
	if at > a.since {
		c.Paused = float64(w.sides[worst].clock.Total(at)-then.paused) / float64(at-a.since)
	}
	switch {
	case paused || c.Paused >= 0.5:
		c.Kind = Downstream
	case 2*c.Before >= c.Queue || c.Load <= c.Rate:
		c.Kind = Standing
	}
	return c
}

// mostHoldings is the largest number of entries in a list of holdings. The last entry
// sums up the rest.
const mostHoldings = 12

// others names the merged entry of all flows beyond the length of a list.
const others = "others"

// holdings lists the flows that occupy the account of a port, by flow and egress port.
func (w *watcher) holdings(port fabric.Port) []Holding {
	return holdings(w.sw, w.o.Class, w.ends, w.o.s, w.o.name, func(from, _ fabric.Port) bool { return from == port })
}

// holdings lists the flows of a class that occupy the buffer of a switch with the given links, by
// name and egress port: of the frames that keep selects by their ingress and egress port.
func holdings(sw *switching.Switch, class fabric.Priority, ends []topology.End, s *topology.Scenario, name func(fabric.FlowID) string, keep func(from, to fabric.Port) bool) []Holding {
	type key struct {
		name string
		to   fabric.Port
	}
	bytes := map[key]unit.Bytes{}
	sw.Waiting(class, func(from, to fabric.Port, flow fabric.FlowID, length unit.Bytes) {
		if keep(from, to) {
			bytes[key{name(flow), to}] += length
		}
	})
	list := make([]Holding, 0, len(bytes))
	for k, n := range bytes {
		list = append(list, Holding{Flow: k.name, Egress: s.PeerName(ends[k.to]), Bytes: n})
	}
	slices.SortFunc(list, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Flow, b.Flow), cmp.Compare(a.Egress, b.Egress))
	})
	if len(list) <= mostHoldings {
		return list
	}
	rest := Holding{Flow: others}
	for _, h := range list[mostHoldings-1:] {
		rest.Bytes += h.Bytes
	}
	return append(list[:mostHoldings-1], rest)
}
