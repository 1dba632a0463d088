// Package runner implements the loop around a machine: bus -> machine -> bus, notes
// -> observer. It owns the goroutine and the wall clock of a node, and decides only
// when the loop wakes up. bus.Sync decides which events may be handled, and node.Node
// in which order.
package runner

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/unit"
)

// tick is the wall time between two calls of bus.Sync.Tick. After two ticks, the
// receiver detects a lost envelope.
const tick = 50 * time.Millisecond

// rest is the tick of a node that has reached its grant and whose envelopes are all
// confirmed, so that a paused rack costs almost no CPU time.
const rest = time.Second

// progressTicks is the number of ticks between two calls of Config.Progress.
const progressTicks = 2

// Runner runs one node of a run. Run may be called once.
type Runner struct {
	cfg      Config
	node     *node.Node
	sync     *bus.Sync
	out      fabric.Out
	subjects []string // of the outgoing links, by port
	inbox    *inbox
	spare    []message
	stop     func()

	grant   atomic.Int64 // the latest unit.Time passed to Grant
	granted chan struct{}
	plan    atomic.Pointer[[]fabric.Change]
	tap     atomic.Pointer[node.Tap]
	follow  atomic.Pointer[fabric.Selection]
	resting bool
	reached unit.Time // the last grant that was reported, 0 for none
	ticks   int
	wakeups int64
	lost    int64
	publish func(link int, data []byte)
}

// New checks the configuration and subscribes to the node's links. Once New has
// returned, the Runner receives everything that a peer sends.
func New(cfg Config) (*Runner, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("node %s: %w", cfg.Node, err)
	}
	if cfg.Silence == 0 {
		cfg.Silence = DefaultSilence
	}
	r := &Runner{
		cfg:     cfg,
		node:    node.New(cfg.Machine, len(cfg.Ports)),
		inbox:   newInbox(),
		granted: make(chan struct{}, 1),
	}
	r.out.Quiet, r.out.Follow = cfg.Quiet, cfg.Follow
	r.publish = r.send
	links, ins := make([]bus.LinkConfig, len(cfg.Ports)), make(map[string]int)
	for i, p := range cfg.Ports {
		here, there := bus.End{Node: cfg.Node, Port: i}, bus.End{Node: p.Peer, Port: int(p.PeerPort)}
		links[i] = bus.LinkConfig{Name: there.String() + "->" + here.String(), Lookahead: p.lookahead()}
		ins[bus.LinkSubject(cfg.Run, there, here)] = i
		r.subjects = append(r.subjects, bus.LinkSubject(cfg.Run, here, there))
	}
	var err error
	if r.sync, err = bus.NewSync(cfg.epoch(), links, cfg.End, int(cfg.Silence/tick)); err != nil {
		return nil, fmt.Errorf("node %s: %w", cfg.Node, err)
	}
	return r, r.subscribe(ins)
}

func (r *Runner) subscribe(ins map[string]int) error {
	stop, err := r.cfg.Conn.Subscribe(bus.NodePattern(r.cfg.Run, r.cfg.Node), func(subject string, data []byte) {
		if i, ok := ins[subject]; ok {
			r.inbox.put(message{i, data})
			return
		}
		r.inbox.stray()
	})
	if err != nil {
		return fmt.Errorf("node %s: %w", r.cfg.Node, err)
	}
	r.stop = stop
	if err := r.cfg.Conn.Flush(); err != nil {
		stop()
		return fmt.Errorf("node %s: %w", r.cfg.Node, err)
	}
	return nil
}

// Grant lets the node handle events before t. A t below an earlier grant has no
// effect. Grant may be called from any goroutine.
func (r *Runner) Grant(t unit.Time) {
	for {
		old := r.grant.Load()
		if int64(t) <= old {
			return
		}
		if r.grant.CompareAndSwap(old, int64(t)) {
			break
		}
	}
	select {
	case r.granted <- struct{}{}:
	default:
	}
}

// Plan sets the future changes, none of which may precede the current grant. It
// replaces an earlier plan, and takes effect at Run or the next call of Grant. Plan
// may be called from any goroutine.
func (r *Runner) Plan(changes []fabric.Change) { r.plan.Store(&changes) }

// Look sets the tap of the node, which the loop calls; nil removes it. It takes
// effect at Run or the next call of Grant. Look may be called from any goroutine.
func (r *Runner) Look(t *node.Tap) { r.tap.Store(t) }

// Follow selects the messages whose frames have notes. It replaces Config.Follow at
// the next call of Grant. Follow may be called from any goroutine.
func (r *Runner) Follow(s *fabric.Selection) { r.follow.Store(s) }

// steer applies the latest values of Plan, Look, Follow and Grant.
func (r *Runner) steer() {
	grant := unit.Time(r.grant.Load())
	if p := r.plan.Swap(nil); p != nil {
		r.node.Plan(*p)
	}
	r.node.Look(r.tap.Load())
	if s := r.follow.Swap(nil); s != nil {
		r.out.Follow = s
	}
	r.sync.Grant(grant)
}

// Run handles events up to the grant and serves the peers until ctx ends. The caller
// ends ctx once all nodes of the run have reached its end. The error names node and
// link if a peer is silent or violates the protocol. It wraps the context's cause if
// ctx ends before the node has reached the grant.
func (r *Runner) Run(ctx context.Context) (Result, error) {
	defer r.stop()
	clock := time.NewTicker(tick)
	defer clock.Stop()
	r.steer()
	for {
		if err := r.round(ctx); err != nil {
			return r.result(), fmt.Errorf("node %s: %w", r.cfg.Node, err)
		}
		r.pace(clock)
		select {
		case <-r.inbox.wake:
		case <-r.granted:
			r.steer()
		case <-r.cfg.Conn.Reconnected():
			r.sync.Reconnected(r.publish)
		case <-clock.C:
			if err := r.tick(); err != nil {
				return r.result(), fmt.Errorf("node %s: %w", r.cfg.Node, err)
			}
		case <-ctx.Done():
			return r.result(), r.ended(ctx)
		}
	}
}

// pace slows the clock down while the node rests at its grant.
func (r *Runner) pace(clock *time.Ticker) {
	resting := r.reached == r.sync.Granted() && r.sync.Settled()
	if resting == r.resting {
		return
	}
	if r.resting = resting; resting {
		clock.Reset(rest)
	} else {
		clock.Reset(tick)
	}
}

// round receives all waiting messages, handles all safe events and sends all due
// envelopes.
func (r *Runner) round(ctx context.Context) error {
	r.wakeups++
	if err := r.take(); err != nil {
		return err
	}
	r.work(ctx)
	r.sync.Flush(r.node.Next(), r.publish)
	if g := r.sync.Granted(); r.reached < g && r.sync.Reached(r.node.Next()) {
		r.reached = g
		if r.cfg.Reached != nil {
			r.cfg.Reached(g, r.result())
		}
	}
	return nil
}

// take passes the messages in the inbox to the link protocol, which delivers their
// frames to the node.
func (r *Runner) take() error {
	taken := r.inbox.take(r.spare[:0])
	for i, m := range taken {
		if err := r.sync.Receive(m.link, m.data, r); err != nil {
			return err
		}
		taken[i].data = nil
	}
	r.spare = taken
	return nil
}

// Push delivers a frame from the bus to the node; it implements bus.Inbox.
func (r *Runner) Push(link int, f *frame.Frame) { r.node.Push(fabric.Port(link), f) }

// work handles every event that is safe.
func (r *Runner) work(ctx context.Context) {
	for ctx.Err() == nil {
		next := r.node.Next()
		horizon := r.sync.Horizon(next)
		if next >= horizon {
			return
		}
		r.node.Run(horizon, &r.out)
		for i := range r.out.Sends {
			r.sync.Send(int(r.out.Sends[i].Port), &r.out.Sends[i].Frame)
		}
		if r.cfg.Observe != nil && len(r.out.Notes) > 0 {
			r.cfg.Observe(r.out.Notes)
		}
		r.out.Reset()
	}
}

// tick lets the link protocol repair losses and detect silent peers, and reports
// progress.
func (r *Runner) tick() error {
	if err := r.take(); err != nil {
		return err
	}
	if err := r.sync.Tick(r.publish); err != nil {
		return fmt.Errorf("%w of %s", err, r.cfg.Silence)
	}
	if r.ticks++; r.cfg.Progress != nil && r.ticks%progressTicks == 0 {
		r.cfg.Progress(Progress{min(r.node.Next(), r.sync.Granted()), r.result()})
	}
	return nil
}

// send publishes an envelope. An envelope that the bus refuses is treated as lost:
// the peer detects the loss, and the node resends it.
func (r *Runner) send(link int, data []byte) {
	if r.cfg.Conn.Publish(r.subjects[link], data) != nil {
		r.lost++
	}
}

func (r *Runner) ended(ctx context.Context) error {
	if r.reached == r.sync.Granted() {
		return nil
	}
	return fmt.Errorf("node %s: stopped at %s of %s: %w", r.cfg.Node, r.node.Now(), r.sync.Granted(), context.Cause(ctx))
}

func (r *Runner) result() Result {
	c := r.sync.Counts()
	c.Foreign += r.inbox.strays()
	return Result{
		Digest:    r.node.Digest(),
		FrameHops: r.node.Arrivals(),
		Counts:    c, Unpublished: r.lost, Wakeups: r.wakeups,
	}
}
