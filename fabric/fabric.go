// Package fabric defines what the packages of the emulator share: the interface
// of a node (Machine), the effects of a call (Out), the changes made to a running
// machine (Change) and the events that it reports (Note). It knows no algorithm
// and no particular device.
//
// Each package below fabric has one subject:
//
//	unit       quantities: time, rate, size
//	ring       a FIFO queue
//	splitmix   the hash that spreads flows
//	workload   sizes and start times of generated flows
//	frame      byte offsets in frames
//	cc         congestion control algorithms, with the symbols of their papers
//	agenda     the earliest of many instants
//	credit     credit granted by receivers
//	llr        link-layer retry at the ends of a link
//	nic        the port, the table of queue pairs, dispatch of arriving frames
//	nic/rx        the receive buffer, address translation, and pauses on the link
//	nic/notify    what receivers send back about congestion
//	nic/control   the queue of ACKs, NAKs, CNPs and credit
//	nic/uet       receiver credit: accounts of senders, grants of receivers
//	nic/entropy   the entropy of each packet, which spreads a flow over paths
//	nic/work      work requests: schedule, queues, triggers, packets
//	nic/program   the steps of a host that send, receive and compute
//	nic/shaper    what a NIC sends next: turns and token buckets
//	nic/qp        queue pairs: packet numbers, completion, recovery, reaction points
//	collective  all-reduce and others as steps of their ranks
//	switching  queues, thresholds, pauses
//	switching/balance   the choice among ports of equal cost
//	switching/rttx   ECN marks converted to RTT increments
//	topology   the model of a scenario: nodes, links, flows, changes
//	topology/routes   shortest paths and base RTTs
//	topology/templates   racks of common shapes from a few numbers
//	topology/groups   a rack cut into groups of nodes, by expected work
//	scenariofile   text form of a scenario: parser, validation, schema, settings
//	rack       builds the machine of each node
//	node       order of events at a node, and its digest
//	tap        frames captured at ports
//	tracing    the spans of one message
//	measure    definitions of the reported figures
//	lab        runs all machines in one process
//	lab/steering   random changes to a rack, for tests
//	explain    causes of pauses, of losses, and of the time of collectives
//
// No package below fabric uses a clock, goroutine, lock, logger, network, map
// order or global randomness.
package fabric

import (
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Port is the index of a port at its node, counted from 0 in the order in which
// the topology lists the node's links.
type Port int

// FlowID is the index of a flow in the scenario, bursts expanded.
type FlowID uint32

// NoFlow marks a note that concerns no single flow.
const NoFlow FlowID = 1<<32 - 1

// Priority is an IEEE 802.1Q traffic class, 0 to 7.
type Priority uint8

// Priorities is the number of traffic classes of a port (IEEE 802.1Q).
const Priorities = 8

// Machine is a node without any I/O. Machines are total and deterministic: the
// same calls produce the same Out, byte for byte. Time never decreases from one
// call to the next. At one instant the caller applies changes first, then
// arrivals in the order of ports, then the tick.
type Machine interface {
	// Arrive handles a frame that was received whole at port. The frame belongs to
	// the caller again when Arrive returns, unless the machine keeps it (Out.Keep).
	Arrive(now unit.Time, port Port, f *frame.Frame, out *Out)
	// Control applies a change at its instant.
	Control(now unit.Time, c *Change, out *Out)
	// Tick handles the instant that Next returned.
	Tick(now unit.Time, out *Out)
	// Next returns the instant of the next tick. It returns false if the machine
	// waits only for arrivals.
	Next() (unit.Time, bool)
}

// Send is a frame transmitted on the link behind a port. Its Arrival is set. The
// sends of a port are in the order of their arrivals. A caller that takes the frame
// over sets Frame to nil.
type Send struct {
	Port  Port
	Frame *frame.Frame
}

// Out collects the effects of calls to a Machine. The caller resets it.
type Out struct {
	Sends []Send
	Notes []Note
	// Quiet omits the notes that are made for every frame (Kind.PerFrame).
	Quiet bool
	// Follow selects the messages whose per-frame notes are recorded despite Quiet.
	Follow *Selection
	// Pool provides the frames of Send and Keep. Without a pool they are allocated.
	Pool *frame.Pool
	// offered is the frame that the machine may keep without copying it, or nil.
	offered *frame.Frame
}

// Reset empties the collection and keeps its memory. Frames of sends that nobody took
// over return to the pool.
func (o *Out) Reset() {
	for i := range o.Sends {
		if f := o.Sends[i].Frame; f != nil {
			o.Pool.Put(f)
		}
	}
	o.Sends, o.Notes = o.Sends[:0], o.Notes[:0]
}

// Send appends a send for port and returns its frame for the caller to fill. The
// content of the frame is undefined, except that it has no Sequence.
func (o *Out) Send(port Port) *frame.Frame {
	f := o.Pool.Get()
	f.Sequence = 0
	o.Forward(port, f)
	return f
}

// Forward appends a send of a frame that the machine kept.
func (o *Out) Forward(port Port, f *frame.Frame) {
	o.Sends = append(o.Sends, Send{Port: port, Frame: f})
}

// Arrive passes f, which comes from the pool, to the machine, which may keep it. If it
// does not, the frame returns to the pool.
func (o *Out) Arrive(m Machine, now unit.Time, port Port, f *frame.Frame) {
	o.offered = f
	m.Arrive(now, port, f, o)
	if o.offered != nil {
		o.Pool.Put(f)
	}
}

// Keep returns the arriving frame f, or a copy if f belongs to the caller of the
// machine. The result belongs to the machine until it passes it to Forward or Drop.
func (o *Out) Keep(f *frame.Frame) *frame.Frame {
	if o.offered == f {
		o.offered = nil
		return f
	}
	kept := o.Pool.Get()
	*kept = *f
	return kept
}

// Drop returns a frame that the machine kept to the pool.
func (o *Out) Drop(f *frame.Frame) { o.Pool.Put(f) }

// Note records n, unless it is a per-frame note and Out does not want it.
func (o *Out) Note(n Note) {
	if n.Kind.PerFrame() && !o.Wants(n.Trace) {
		return
	}
	n.Trace = MessageOf(n.Trace)
	o.Notes = append(o.Notes, n)
}
