// Package node connects a machine to its incoming links. It keeps arriving frames in
// order, passes them to the machine up to a bound, and computes the digest of all
// arrivals. The lab and the node processes use the same code. It knows neither the
// kind of machine nor the origin of the frames.
package node

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// SendLimit is the number of sends after which Run returns before its bound, so
// that a node far ahead of its peers hands over its frames.
const SendLimit = 2048

// stuckAfter is the number of ticks at one instant after which a machine counts as
// stuck.
const stuckAfter = 1 << 20

// Node is a machine with an inbox per port.
//
// Invariant: now never decreases, and every event before now has been handled.
type Node struct {
	machine  fabric.Machine
	inbox    []ring.Ring[arrival]
	pool     *frame.Pool // of the frames in the inbox and in the machine
	order    agenda.Agenda
	changes  []fabric.Change // future changes, in the order of their instants
	applied  int
	now      unit.Time
	own      unit.Time // next event of the machine itself, Never if there is none
	arrivals int64
	digest   *xxhash.Digest
	unhashed []byte // arrivals and changes that the digest does not yet contain
	loaded   byte   // keeps the compiler from leaving out the reads of preload
	tap      *Tap   // nil if nothing observes the node
}

// arrival is a frame in an inbox.
type arrival struct {
	at    unit.Time
	frame *frame.Frame
}

// digestBlock is the number of bytes above which unhashed is added to the digest: some
// frames, so that a call of the hash pays, and so few that the buffers of a thousand nodes
// stay in the cache.
const digestBlock = 512

// New returns a node with the given machine and number of ports. Nodes in one loop share
// a pool of frames.
func New(machine fabric.Machine, ports int, pool *frame.Pool) *Node {
	n := &Node{
		machine: machine,
		inbox:   make([]ring.Ring[arrival], ports),
		pool:    pool,
		order:   agenda.New(ports),
		digest:  xxhash.New(),
	}
	n.ask()
	return n
}

// ask updates own after a call of the machine. Loops ask idle nodes for their next event
// all the time, so the answer must not take a look into the machine.
func (n *Node) ask() {
	n.own = unit.Never
	if at, ok := n.machine.Next(); ok {
		n.own = at
	}
}

// Share replaces the pool of the node: that of the loop which runs it from now on.
func (n *Node) Share(pool *frame.Pool) { n.pool = pool }

// Push adds a copy of a frame that arrives at port. The frames of a port must come in the
// order of their arrivals, none before Now. Push panics on any other order, a fault of the
// caller.
func (n *Node) Push(port fabric.Port, f *frame.Frame) {
	own := n.pool.Get()
	*own = *f
	n.Take(port, own)
}

// Take is Push for a frame of the node's pool, which belongs to the node from now on.
func (n *Node) Take(port fabric.Port, f *frame.Frame) {
	q, at := &n.inbox[port], f.Arrival
	if at < n.now || q.Len() > 0 && at < q.Back().at {
		panic(fmt.Sprintf("node: frame at port %d arrives at %d ps, after %d ps were handled", port, at, n.now))
	}
	*q.Next() = arrival{at, f}
	if q.Len() == 1 {
		n.order.Set(int(port), at)
	}
}

// Plan replaces the list of future changes. They must be in order, none before Now.
// Plan panics on any other order, a fault of the caller.
func (n *Node) Plan(changes []fabric.Change) {
	last := n.now
	for i := range changes {
		if changes[i].At < last {
			panic(fmt.Sprintf("node: change at %d ps, after %d ps", changes[i].At, last))
		}
		last = changes[i].At
	}
	n.changes = changes
}

// Applied returns the number of changes handled.
func (n *Node) Applied() int { return n.applied }

// change returns the instant of the next change, Never if there is none.
func (n *Node) change() unit.Time {
	if len(n.changes) == 0 {
		return unit.Never
	}
	return n.changes[0].At
}

// control passes the next change to the machine and adds it to the digest.
func (n *Node) control(out *fabric.Out) {
	c := &n.changes[0]
	n.changes = n.changes[1:]
	n.now = c.At
	n.applied++
	n.unhashed = c.Append(n.unhashed)
	sends, notes := len(out.Sends), len(out.Notes)
	n.machine.Control(c.At, c, out)
	if n.tap != nil {
		n.handled(sends, notes, out)
	}
}

// Next returns the instant of the earliest known event: a change, an arrival in an
// inbox, or an event of the machine itself. It returns Never if there is none.
func (n *Node) Next() unit.Time {
	_, at := n.order.First()
	at = min(at, n.change())
	if n.own < at {
		return max(n.own, n.now)
	}
	return at
}

// Run handles every event strictly before bound in order of time. At one instant it
// applies changes as planned, then arrivals by port, then the tick. It appends the
// effects to out. It returns early, with Next() < bound, once out holds SendLimit
// sends. The frames of the sends are from the node's pool.
func (n *Node) Run(bound unit.Time, out *fabric.Out) {
	out.Pool = n.pool
	n.preload(bound)
	ticks := 0
	for len(out.Sends) < SendLimit {
		port, at := n.order.First()
		own := max(n.own, n.now)
		if len(n.changes) > 0 {
			if c := n.changes[0].At; c <= at && c <= own {
				if c >= bound {
					return
				}
				n.control(out)
				n.ask()
				continue
			}
		}
		if n.own < at {
			if own >= bound {
				return
			}
			if ticks++; own > n.now {
				ticks = 0
			} else if ticks > stuckAfter {
				panic(fmt.Sprintf("node: %d ticks at %d ps and the machine still asks for one", ticks, own))
			}
			n.now = own
			sends, notes := len(out.Sends), len(out.Notes)
			n.machine.Tick(own, out)
			if n.tap != nil {
				n.handled(sends, notes, out)
			}
			n.ask()
			continue
		}
		if at >= bound {
			return
		}
		n.arrive(at, port, out)
		n.ask()
	}
}

// preload reads the frames that arrive before bound. In a large rack the cache no longer
// has them. Reads in a row wait for memory at the same time; reads by arrive would wait
// one after the other, since the work between them exceeds what a processor looks ahead.
func (n *Node) preload(bound unit.Time) {
	for port := range n.inbox {
		if n.order.At(port) >= bound {
			continue
		}
		q := &n.inbox[port]
		for i := range q.Len() {
			a := q.At(i)
			if a.at >= bound {
				break
			}
			n.loaded += a.frame.Preload()
		}
	}
}

// arrive passes the first frame of port's inbox to the machine and adds it to the
// digest.
func (n *Node) arrive(at unit.Time, port int, out *fabric.Out) {
	n.now = at
	q := &n.inbox[port]
	f := q.Front().frame
	q.Drop(1)
	if q.Len() == 0 {
		n.order.Set(port, unit.Never)
	} else {
		n.order.Set(port, q.Front().at)
	}
	n.arrivals++
	n.sum(fabric.Port(port), f)
	if n.tap == nil {
		out.Arrive(n.machine, at, fabric.Port(port), f)
	} else {
		n.arriving(port, f)
		sends, notes := len(out.Sends), len(out.Notes)
		out.Arrive(n.machine, at, fabric.Port(port), f)
		n.handled(sends, notes, out)
	}
}

// sum adds an arrival to the digest: time, port, payload length, number on a link with
// retry, header bytes.
func (n *Node) sum(port fabric.Port, f *frame.Frame) {
	b := binary.LittleEndian.AppendUint64(n.unhashed, uint64(f.Arrival))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Payload)<<32|uint64(uint32(port)))
	if f.Sequence != 0 {
		b = binary.LittleEndian.AppendUint32(b, f.Sequence)
	}
	n.unhashed = append(b, f.Header()...)
	if len(n.unhashed) > digestBlock {
		n.hash()
	}
}

// hash adds the unhashed bytes to the digest.
func (n *Node) hash() {
	_, _ = n.digest.Write(n.unhashed) // never fails
	n.unhashed = n.unhashed[:0]
}

// Machine returns the machine of the node.
func (n *Node) Machine() fabric.Machine { return n.machine }

// Digest returns the hash of all arrivals so far.
func (n *Node) Digest() uint64 {
	n.hash()
	return n.digest.Sum64()
}

// Arrivals returns the number of frames handled: the node's frame-hops.
func (n *Node) Arrivals() int64 { return n.arrivals }

// Now returns the instant of the last event handled.
func (n *Node) Now() unit.Time { return n.now }

// Combine returns the digest of a run. digests are those of its nodes, in the order
// of the nodes' names.
func Combine(digests []uint64) uint64 {
	all := make([]byte, 0, 8*len(digests))
	for _, d := range digests {
		all = binary.LittleEndian.AppendUint64(all, d)
	}
	return xxhash.Sum64(all)
}
