package explain

import (
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
	accounts []account                     // by ingress port
	paused   []pausedPort                  // by egress port
	rises    []rise                        // by egress port
	arriving fabric.Port                   // ingress port of this event's frame, -1 for none
	egress   map[fabric.FlowID]fabric.Port // egress port of each flow of the class in question
	history  *history                      // of the account in question, nil if it is at another node
	dscp     [64]fabric.Priority           // class of each code point
}

// account is the observation of one ingress port.
type account struct {
	pauseLog
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

// pauseLog records the PAUSE frames that a node sends to one neighbour.
type pauseLog struct {
	pauses []Pause
	sent   []unit.Time // instants of PAUSE frames, refreshes included
}

// open returns the pause that has not ended, or nil.
func (l *pauseLog) open() *Pause {
	if k := len(l.pauses) - 1; k >= 0 && l.pauses[k].Until < 0 {
		return &l.pauses[k]
	}
	return nil
}

// xoff records a PAUSE frame: the first of a pause, described by first, or a refresh.
func (l *pauseLog) xoff(at unit.Time, first func() Pause) {
	l.sent = append(l.sent, at)
	p := l.open()
	if p == nil {
		l.pauses = append(l.pauses, first())
		p = &l.pauses[len(l.pauses)-1]
		p.Until = -1
	}
	p.Frames++
}

// xon records a RESUME frame.
func (l *pauseLog) xon(at unit.Time) {
	if p := l.open(); p != nil {
		p.Until = at
	}
}

// pausedPort records when an egress port was paused.
type pausedPort struct {
	fabric.PauseClock
	spans []span // pauses that have ended
}

type span struct{ from, to unit.Time }

// observe takes the Paused and Resumed notes of the port. It reports whether the port was
// resumed.
func (p *pausedPort) observe(n *fabric.Note) bool {
	if !p.Observe(n) || p.Running() {
		return false
	}
	p.spans = append(p.spans, span{p.Since(), n.At})
	return true
}

// until lists the pauses until now, including the present one.
func (p *pausedPort) until(now unit.Time) []span {
	if p.Running() {
		return append(slices.Clone(p.spans), span{p.Since(), now})
	}
	return p.spans
}

// within returns how long the port was paused in a range that ends now or earlier.
func (p *pausedPort) within(from, to unit.Time) (sum unit.Time) {
	for _, s := range p.until(to) {
		sum += max(0, min(s.to, to)-max(s.from, from))
	}
	return sum
}

func newWatcher(o *observer, index int, sw *switching.Switch, ends []topology.End) *watcher {
	w := &watcher{
		o: o, sw: sw, index: index, dscp: o.s.DSCPMapAt(index), ends: ends, accounts: make([]account, len(ends)), paused: make([]pausedPort, len(ends)),
		rises: make([]rise, len(ends)), arriving: -1, egress: map[fabric.FlowID]fabric.Port{},
	}
	for i := range w.accounts {
		w.accounts[i].to = make([]share, len(ends))
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

// tap returns the tap of the watcher's node.
func (w *watcher) tap() *node.Tap { return &node.Tap{Frame: w.frame, Event: w.event} }

// frame detects the start of the filling of an account, and the egress ports of flows.
// Control frames count as filling because a CNM may be of the class in question.
func (w *watcher) frame(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
	class := classOf(f, &w.dscp)
	matches := class == w.o.Class
	switch {
	case way == node.Damaged || way == node.Gone:
		w.o.linkError(w.ends[port].Peer, w.index, at, way, f)
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
		a.to[e] = share{paused: w.paused[e].Total(at)}
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
			w.rises[n.Port].set(at, n.Queue())
		case fabric.Dequeued:
			w.rises[n.Port].set(at, n.Queue())
		case fabric.PauseSent:
			w.accounts[n.Port].xoff(at, func() Pause { return w.pause(at, n.Port) })
		case fabric.ResumeSent:
			w.accounts[n.Port].xon(at)
			w.begin(at, n.Port)
		case fabric.Paused, fabric.Resumed:
			if p := &w.paused[n.Port]; p.observe(n) {
				w.o.resumed(w.index, n.Port, p.Since(), at)
			}
		default:
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
		Kind: Overload, Egress: w.o.s.Nodes[end.Peer].Name, Bytes: waiting[worst], Queue: queued, Before: then.queued, Ports: len(ingress[worst]),
		Load: unit.Over(joined-then.joined, at-a.since), Rate: w.o.s.Links[end.Link].Rate, peer: end.Peer,
		port: fabric.Port(worst), rise: w.rises[worst].growth(),
	}
	if at > a.since {
		c.Paused = float64(w.paused[worst].Total(at)-then.paused) / float64(at-a.since)
	}
	switch {
	case paused || c.Paused >= 0.5:
		c.Kind = Downstream
	case 2*c.Before >= c.Queue || c.Load <= c.Rate:
		c.Kind = Standing
	}
	return c
}
