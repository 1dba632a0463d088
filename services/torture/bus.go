package torture

import (
	"errors"
	"maps"
	"strings"
	"sync"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/bus/faulty"
	"github.com/rackfab/rackfab/fabric/unit"
)

// controllerName is the name of the controller's connection.
const controllerName = "controller"

var errDown = errors.New("the bus is down")

// faultyBus is a bus in memory that inflicts the faults of a schedule. It counts the envelopes
// that processes publish, and begins each fault at its count.
type faultyBus struct {
	memory *bus.Memory
	crash  func(process string) // ends a process; must not block
	breach breach               // nil for none

	mu       sync.Mutex
	conns    map[string]*conn // by process, of those that live
	faults   []Fault          // that have not begun
	passed   int              // envelopes since the last one began
	outage   int              // messages that the bus still loses while it restarts
	cuts     []cut
	began    map[Kind]int
	run      string            // name of the present attempt on the bus
	promised map[way]unit.Time // in the present attempt
	advances int               // envelopes that have promised more, and faults that have begun
	now, old map[way][][]byte  // envelopes of the present attempt and the one before
}

// way is a direction between two groups.
type way struct{ from, to string }

// cut is a partition between two groups.
type cut struct {
	a, b string
	left int // envelopes
}

// breach breaks the link protocol on purpose, for tests of the schedules and checks: it returns
// the envelopes that are published instead of one. before is one of an earlier attempt, which
// comes before it, nil for none.
type breach func(run string, w way, before, data []byte) [][]byte

// mostKept is the number of envelopes of an attempt that are kept per direction.
const mostKept = 256

func newFaultyBus(crash func(string), breach breach) *faultyBus {
	return &faultyBus{memory: bus.NewMemory(), crash: crash, breach: breach, conns: map[string]*conn{}, began: map[Kind]int{}}
}

// dial connects a process, instead of an earlier one of that name.
func (b *faultyBus) dial(process string) *conn {
	inner := b.memory.Dial()
	c := &conn{Conn: inner, bus: b, faulty: faulty.Wrap(inner, faulty.Rates{}, 0), back: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conns[process] = c
	return c
}

// begin replaces the schedule.
func (b *faultyBus) begin(faults []Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults, b.passed = faults, 0
	clear(b.began)
}

// endFaults ends all faults. It returns the number of those that have begun, by kind.
func (b *faultyBus) endFaults() map[Kind]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults, b.cuts, b.outage = nil, nil, 0
	for _, c := range b.conns {
		c.struck, c.stale = 0, 0
		c.faulty.Impair(faulty.Rates{}, 0)
		c.reconnected()
	}
	return maps.Clone(b.began)
}

// progress returns a number that increases as long as the rack comes further. An endless
// exchange of envelopes is no progress.
func (b *faultyBus) progress() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.advances
}

// start begins a fault. The caller holds the lock.
func (b *faultyBus) start(f Fault) {
	c := b.conns[f.Node]
	switch f.Kind {
	case BusRestart:
		b.outage = f.For
	case Partition:
		b.cuts = append(b.cuts, cut{f.Node, f.Peer, f.For})
	case Crash:
		b.kill(f.Node)
	case Takeover:
		b.kill(controllerName)
	case Stale:
		c.stale = f.For
	default:
		c.struck = f.For
		c.faulty.Impair(f.rates(), f.Seed)
	}
	b.began[f.Kind]++
	b.advances++
}

// rates returns the rates of a fault of single envelopes.
func (f *Fault) rates() (r faulty.Rates) {
	switch f.Kind {
	case Drop:
		r.Drop = f.Rate
	case Repeat:
		r.Repeat = f.Rate
	case Delay:
		r.Delay = f.Rate
	case Partition, Stale, BusRestart, Crash, Takeover: // not of single envelopes
	}
	return r
}

// kill cuts a process from the bus at once, so that it cannot say that it leaves.
func (b *faultyBus) kill(process string) {
	b.conns[process].Close()
	b.crash(process)
}

// fate says how the bus treats an envelope.
type fate struct {
	err    error  // of Publish
	lost   bool   // without an error
	before []byte // of an earlier attempt, delivered before it; nil for none
	last   bool   // of those that a rate applies to
}

// decide counts an envelope and decides what happens to it.
func (b *faultyBus) decide(c *conn, run string, w way, data []byte) (out fate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.passed++; len(b.faults) > 0 && b.passed > b.faults[0].After; b.passed = 0 {
		f := b.faults[0]
		b.faults = b.faults[1:]
		b.start(f)
	}
	if b.loses() {
		return fate{err: errDown}
	}
	for i := range b.cuts {
		if x := &b.cuts[i]; x.left > 0 && (way{x.a, x.b} == w || way{x.b, x.a} == w) {
			x.left--
			return fate{lost: true}
		}
	}
	if c.stale > 0 {
		c.stale--
		if kept := b.old[w]; len(b.now[w]) < len(kept) {
			out.before = kept[len(b.now[w])]
		}
	}
	b.keep(run, w, data)
	if c.struck > 0 {
		c.struck--
		out.last = c.struck == 0
	}
	return out
}

// loses reports whether a message is lost because the bus restarts. With the last one, all
// processes have reconnected.
func (b *faultyBus) loses() bool {
	if b.outage == 0 {
		return false
	}
	if b.outage--; b.outage == 0 {
		for _, c := range b.conns {
			c.reconnected()
		}
	}
	return true
}

// keep keeps an envelope of the present attempt, which replaces that of another name.
func (b *faultyBus) keep(run string, w way, data []byte) {
	if run != b.run {
		b.run, b.old, b.now, b.promised = run, b.now, map[way][][]byte{}, map[way]unit.Time{}
	}
	if envelope, err := bus.ParseEnvelope(data); err == nil && envelope.Promise > b.promised[w] {
		b.promised[w] = envelope.Promise
		b.advances++
	}
	if len(b.now[w]) < mostKept {
		b.now[w] = append(b.now[w], append([]byte(nil), data...))
	}
}

// conn is the connection of a process.
type conn struct {
	bus.Conn
	bus    *faultyBus
	faulty *faulty.Conn
	back   chan struct{}
	struck int // envelopes to which the rates of faulty apply; the bus's lock guards it
	stale  int // envelopes before which one of an earlier attempt comes; likewise
}

// Publish inflicts the present faults on envelopes; other messages are lost only while the
// bus restarts.
func (c *conn) Publish(subject string, data []byte) error {
	t := strings.Split(subject, ".")
	if len(t) != 5 || bus.LinkSubject(t[1], t[3], t[4]) != subject {
		c.bus.mu.Lock()
		lost := c.bus.loses()
		c.bus.mu.Unlock()
		if lost {
			return errDown
		}
		return c.Conn.Publish(subject, data)
	}
	w := way{t[3], t[4]}
	f := c.bus.decide(c, t[1], w, data)
	if f.err != nil || f.lost {
		return f.err
	}
	err := c.deliver(subject, c.bus.altered(t[1], w, f.before, data))
	if f.last {
		c.faulty.Impair(faulty.Rates{}, 0)
	}
	return err
}

// deliver publishes envelopes under the rates of the present fault.
func (c *conn) deliver(subject string, all [][]byte) (err error) {
	for _, data := range all {
		err = c.faulty.Publish(subject, data)
	}
	return err
}

// altered returns the envelopes that are published instead of one.
func (b *faultyBus) altered(run string, w way, before, data []byte) [][]byte {
	switch {
	case b.breach != nil:
		return b.breach(run, w, before, data)
	case before != nil:
		return [][]byte{before, data}
	}
	return [][]byte{data}
}

// Reconnected returns a channel that receives after each restart of the bus.
func (c *conn) Reconnected() <-chan struct{} { return c.back }

func (c *conn) reconnected() {
	select {
	case c.back <- struct{}{}:
	default:
	}
}
