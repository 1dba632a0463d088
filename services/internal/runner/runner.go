// Package runner implements the loop around a group of nodes: bus -> machines -> bus,
// notes -> observer. It owns the goroutine and the wall clock of the group, and decides
// only when the loop wakes up. bus.Sync decides which events may be handled, and
// node.Group in which order.
package runner

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/unit"
)

// tick is the default of Config.Tick.
const tick = 50 * time.Millisecond

// rest is the tick of a group that has reached its grant and whose envelopes are all
// confirmed, so that a paused rack costs almost no CPU time.
const rest = time.Second

// progressTicks is the number of ticks between two calls of Config.Progress.
const progressTicks = 2

// Runner runs one group of nodes of a run. Run may be called once. Plan, Look, Follow and
// Grant may be called from any goroutine. They take effect together, in the order of the
// calls, at Run or the next call of Grant.
type Runner struct {
	cfg      Config
	group    *node.Group
	pool     frame.Pool // of the nodes' frames
	wires    *wiring
	links    *bus.Sync
	out      fabric.Out
	subjects []string // of the envelopes to each peer
	inbox    *inbox
	spare    []message
	unsub    func()
	clock    <-chan time.Time // of Run

	mu      sync.Mutex
	steps   []func()      // passed to Plan, Look, Follow and Grant since the last grant
	granted chan struct{} // holds a token while a grant waits
	resting bool
	reached unit.Time // the last grant that was reported, 0 for none
	ticks   int
	wakeups int64
	lost    int64
	publish func(peer int, data []byte)
	conn    atomic.Pointer[bus.Conn] // on which envelopes are published
}

// New subscribes to the envelopes to the group. Once New has returned, the Runner
// receives everything that a peer sends.
func New(cfg Config) (*Runner, error) {
	cfg.Tick = cmp.Or(cfg.Tick, tick)
	r := &Runner{cfg: cfg, inbox: newInbox(), granted: make(chan struct{}, 1)}
	r.out.Quiet, r.out.Follow = cfg.Quiet, cfg.Follow
	r.publish = r.send
	r.PublishOn(cfg.Conn)
	var err error
	if r.wires, err = wire(cfg.Group, cfg.Nodes); err != nil {
		return nil, err
	}
	if r.links, err = r.wires.sync(cfg.Run, cfg.Group, cfg.Tick); err != nil {
		return nil, err
	}
	nodes, peers := make([]*node.Node, len(cfg.Nodes)), make(map[string]int)
	for i, n := range cfg.Nodes {
		nodes[i] = node.New(n.Machine, len(n.Ports), &r.pool)
	}
	r.group = node.NewGroup(nodes, r.wires.inside, r.wires.lookahead)
	for i, p := range r.wires.peers {
		r.subjects = append(r.subjects, bus.LinkSubject(cfg.Run, cfg.Group, p.group))
		peers[bus.LinkSubject(cfg.Run, p.group, cfg.Group)] = i
	}
	return r, r.subscribe(peers)
}

func (r *Runner) subscribe(peers map[string]int) error {
	stop, err := r.cfg.Conn.Subscribe(bus.InPattern(r.cfg.Run, r.cfg.Group), func(subject string, data []byte) {
		if i, ok := peers[subject]; ok {
			r.inbox.put(message{i, data})
			return
		}
		r.inbox.strays.Add(1)
	})
	if err != nil {
		return err
	}
	r.unsub = stop
	if err = r.cfg.Conn.Flush(); err != nil {
		stop()
	}
	return err
}

// Grant lets the group handle events before t. A t below an earlier grant has no
// effect.
func (r *Runner) Grant(t unit.Time) {
	r.post(func() { r.links.Grant(t) })
	select {
	case r.granted <- struct{}{}:
	default:
	}
}

// Plan sets the future changes of a node, none of which may precede the current grant.
// It replaces an earlier plan.
func (r *Runner) Plan(node int, changes []fabric.Change) {
	r.post(func() { r.group.Plan(node, changes) })
}

// Look sets the tap of a node, which the loop calls; nil removes it.
func (r *Runner) Look(node int, t *node.Tap) { r.post(func() { r.group.Nodes()[node].Look(t) }) }

// Follow selects the messages whose frames have notes. It replaces Config.Follow.
func (r *Runner) Follow(s *fabric.Selection) { r.post(func() { r.out.Follow = s }) }

// PublishOn replaces the connection on which envelopes are published. It takes effect at
// once, and may be called from any goroutine.
func (r *Runner) PublishOn(c bus.Conn) { r.conn.Store(&c) }

func (r *Runner) post(step func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, step)
}

// steer takes the steps that have been posted.
func (r *Runner) steer() {
	r.mu.Lock()
	steps := r.steps
	r.steps = nil
	r.mu.Unlock()
	for _, step := range steps {
		step()
	}
}

// Links returns the number of links of the nodes, those between them counted once.
func (r *Runner) Links() int { return r.wires.count() }

// Close unsubscribes from the envelopes to the group. Call it after Run has returned, or instead
// of Run.
func (r *Runner) Close() { r.unsub() }

// Run handles events up to the grant and serves the peers until ctx ends. The caller
// ends ctx once all groups of the run have reached its end. The error names the peer if
// one is silent or violates the protocol. It wraps the context's cause if ctx ends
// before the group has reached the grant.
func (r *Runner) Run(ctx context.Context) error {
	clock := time.NewTicker(r.cfg.Tick)
	defer clock.Stop()
	r.clock = clock.C
	r.steer()
	for {
		if err := r.round(ctx); err != nil {
			return err
		}
		r.pace(clock)
		select {
		case <-r.inbox.wake:
		case <-r.granted:
			r.steer()
		case <-r.cfg.Conn.Reconnected():
			r.links.Reconnected(r.publish)
		case <-clock.C:
			if err := r.tick(); err != nil {
				return err
			}
		case <-ctx.Done():
			if r.reached == r.links.Granted() {
				return nil
			}
			return fmt.Errorf("stopped at %s of %s: %w", min(r.group.Next(), r.links.Granted()), r.links.Granted(), context.Cause(ctx))
		}
	}
}

// pace slows the clock down while the group rests at its grant.
func (r *Runner) pace(clock *time.Ticker) {
	resting := r.reached == r.links.Granted() && r.links.Settled()
	if resting == r.resting {
		return
	}
	if r.resting = resting; resting {
		clock.Reset(rest)
	} else {
		clock.Reset(r.cfg.Tick)
	}
}

// round receives all waiting messages, handles all safe events and sends all due
// envelopes.
func (r *Runner) round(ctx context.Context) error {
	r.wakeups++
	if err := r.take(); err != nil {
		return err
	}
	if err := r.work(ctx); err != nil {
		return err
	}
	r.links.Flush(r.group.Next(), r.publish)
	if g := r.links.Granted(); r.reached < g && r.links.Reached(r.group.Next()) {
		r.reached = g
		if r.cfg.Reached != nil {
			result := r.result()
			r.cfg.Reached(g, &result)
		}
	}
	return nil
}

// take passes the messages in the inbox to the link protocol, which delivers their
// frames to the nodes.
func (r *Runner) take() error {
	taken := r.inbox.take(r.spare[:0])
	for i, m := range taken {
		if err := r.links.Receive(m.peer, m.data, r); err != nil {
			return err
		}
		taken[i].data = nil
	}
	r.spare = taken
	return nil
}

// Frame returns a frame of the group's pool; it implements bus.Inbox.
func (r *Runner) Frame() *frame.Frame { return r.pool.Get() }

// Push delivers a frame from the bus to its node; it implements bus.Inbox.
func (r *Runner) Push(peer, link int, f *frame.Frame) {
	i, port := r.wires.at(peer, link)
	r.group.Take(i, port, f)
}

// work handles every event that is safe. A group may take long for that, so work keeps
// the clock.
func (r *Runner) work(ctx context.Context) error {
	for ctx.Err() == nil {
		next := r.group.Next()
		horizon := r.links.Horizon(next)
		if next >= horizon {
			break
		}
		r.group.Window(horizon, &r.out, r.handled)
		select {
		case <-r.clock:
			if err := r.tick(); err != nil {
				return err
			}
		default:
		}
	}
	return nil
}

// handled passes the effects of a node to its peers outside the group and to the
// observer.
func (r *Runner) handled(i int) {
	for s := range r.out.Sends {
		send := &r.out.Sends[s]
		if send.Frame != nil { // not delivered inside the group
			to := r.wires.outside[i][send.Port]
			r.links.Send(to.peer, to.link, send.Frame)
		}
	}
	if r.cfg.Observe != nil && len(r.out.Notes) > 0 {
		r.cfg.Observe(i, r.out.Notes)
	}
}

// tick lets the link protocol repair losses and detect silent peers, and reports
// progress.
func (r *Runner) tick() error {
	if err := r.take(); err != nil {
		return err
	}
	if err := r.links.Tick(r.publish); err != nil {
		return fmt.Errorf("%w of %s", err, silence)
	}
	if r.ticks++; r.cfg.Progress != nil && r.ticks%progressTicks == 0 {
		result := r.result()
		r.cfg.Progress(min(r.group.Next(), r.links.Granted()), &result)
	}
	return nil
}

// send publishes an envelope. An envelope that the bus refuses is treated as lost:
// the peer detects the loss, and the group resends it.
func (r *Runner) send(peer int, data []byte) {
	if (*r.conn.Load()).Publish(r.subjects[peer], data) != nil {
		r.lost++
	}
}

func (r *Runner) result() Result {
	c := r.links.Counts()
	c.Foreign += r.inbox.strays.Load()
	out := Result{Counts: c, Unpublished: r.lost, Wakeups: r.wakeups}
	if peer, ticks, ok := r.links.Waits(r.group.Next()); ok {
		out.WaitsFor, out.Waited = r.wires.peers[peer].group, time.Duration(ticks)*r.cfg.Tick
	}
	for _, n := range r.group.Nodes() {
		out.Nodes = append(out.Nodes, NodeResult{n.Digest(), n.Arrivals()})
		out.FrameHops += n.Arrivals()
	}
	return out
}
