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
	egress   map[fabric.FlowID]fabric.Port // egress port of each flow of the asked class
	// asked is the account that the question is about, nil if it is at another node.
	asked *asked
	dscp  [64]fabric.Priority // class of each code point
}

// account is the observation of one ingress port.
type account struct {
	since unit.Time // instant at which it began to fill
	// By egress port: the bytes that came in since then, and those that it held at
	// since.
	came, before []unit.Bytes
	// By egress port, at since: the bytes that had joined its queue, the bytes that
	// waited in it, and how long it had been paused.
	joined, queued []unit.Bytes
	held           []unit.Time
	pauses         []Pause
	sent           []unit.Time // instants of PAUSE frames, refreshes included
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
		w.accounts[i].joined, w.accounts[i].held = make([]unit.Bytes, len(ends)), make([]unit.Time, len(ends))
		w.accounts[i].queued = make([]unit.Bytes, len(ends))
		w.accounts[i].came, w.accounts[i].before = make([]unit.Bytes, len(ends)), make([]unit.Bytes, len(ends))
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
// Control frames count as filling because a CNM may be of the asked class.
func (w *watcher) frame(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
	class := classOf(f, &w.dscp)
	asked := class == w.o.Class
	switch {
	case way == node.Damaged || way == node.Gone:
		w.o.arrival(w.ends[port].Peer, w.index, at, way, f)
	case way == node.Out:
		if asked {
			w.egress[switching.FlowOf(f)] = port
		}
	case asked || class == fabric.Priorities:
		if asked && w.asked != nil && port == w.asked.port {
			w.asked.came(at, switching.FlowOf(f))
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
	clear(a.came)
	clear(a.before)
	if w.sw.Account(port, w.o.Class).Occupancy > 0 {
		w.sw.Waiting(w.o.Class, func(from, to fabric.Port, _ fabric.FlowID, length unit.Bytes) {
			if from == port {
				a.before[to] += length
			}
		})
	}
	for e := range w.ends {
		a.joined[e], a.queued[e], _ = w.sw.Joined(fabric.Port(e), w.o.Class)
		a.held[e] = w.paused[e].Total(at)
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
				w.accounts[w.arriving].came[n.Port] += n.Bytes()
			}
			w.rises[n.Port].set(at, n.Queue())
		case fabric.Dequeued:
			w.rises[n.Port].set(at, n.Queue())
		case fabric.PauseSent:
			w.pause(at, n.Port)
		case fabric.ResumeSent:
			w.resume(at, n.Port)
		case fabric.Paused, fabric.Resumed:
			if p := &w.paused[n.Port]; p.observe(n) {
				w.o.released(w.index, n.Port, p.Since(), at)
			}
		default:
		}
	}
	w.arriving = -1
	if w.asked != nil {
		w.asked.look(w.bare(at, w.asked.port), func() []Holding { return w.holdings(w.asked.port) })
	}
}

// pause records a PAUSE frame: the first of a pause, or a refresh.
func (w *watcher) pause(at unit.Time, port fabric.Port) {
	a := &w.accounts[port]
	a.sent = append(a.sent, at)
	if n := len(a.pauses); n > 0 && a.pauses[n-1].Until < 0 {
		a.pauses[n-1].Frames++
		return
	}
	p := Pause{State: w.state(at, port), Until: -1, Frames: 1, Since: a.since, Cause: w.cause(at, port)}
	to := p.Cause.port
	p.Arrived = unit.Over(a.came[to], at-a.since)
	p.Left = unit.Over(a.came[to]+a.before[to]-p.Cause.Bytes, at-a.since)
	a.pauses = append(a.pauses, p)
}

func (w *watcher) resume(at unit.Time, port fabric.Port) {
	a := &w.accounts[port]
	if n := len(a.pauses); n > 0 && a.pauses[n-1].Until < 0 {
		a.pauses[n-1].Until = at
	}
	w.begin(at, port)
}

// state returns the present state of an account, with the flows that occupy it.
func (w *watcher) state(at unit.Time, port fabric.Port) State {
	s := w.bare(at, port)
	s.Flows = w.holdings(port)
	return s
}

// bare returns the present state of an account, without flows.
func (w *watcher) bare(at unit.Time, port fabric.Port) State {
	a := w.sw.Account(port, w.o.Class)
	return State{At: at, Occupancy: a.Occupancy, Shared: a.Shared, Threshold: a.Threshold, Headroom: a.Headroom, PoolUsed: a.PoolUsed}
}

// cause returns the egress port that the account waits for, and why that port is
// congested.
func (w *watcher) cause(at unit.Time, port fabric.Port) Cause {
	waits, ports := make([]unit.Bytes, len(w.ends)), make([]map[fabric.Port]bool, len(w.ends))
	w.sw.Waiting(w.o.Class, func(from, to fabric.Port, _ fabric.FlowID, length unit.Bytes) {
		if from == port {
			waits[to] += length
		}
		if ports[to] == nil {
			ports[to] = map[fabric.Port]bool{}
		}
		ports[to][from] = true
	})
	worst := 0
	for e := range waits {
		if waits[e] > waits[worst] {
			worst = e
		}
	}
	a, e := &w.accounts[port], fabric.Port(worst)
	joined, queued, held := w.sw.Joined(e, w.o.Class)
	c := Cause{
		Kind: Overload, Egress: w.o.s.Nodes[w.ends[worst].Peer].Name, Bytes: waits[worst], Queue: queued, Before: a.queued[worst], Ports: len(ports[worst]),
		Load: unit.Over(joined-a.joined[worst], at-a.since), Rate: w.o.s.Links[w.ends[worst].Link].Rate, peer: w.ends[worst].Peer,
		port: e, rise: w.rises[worst].growth(),
	}
	if at > a.since {
		c.Held = float64(w.paused[worst].Total(at)-a.held[worst]) / float64(at-a.since)
	}
	switch {
	case held || c.Held >= 0.5:
		c.Kind = Downstream
	case 2*c.Before >= c.Queue || c.Load <= c.Rate:
		c.Kind = Standing
	}
	return c
}
