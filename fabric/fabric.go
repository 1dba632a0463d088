// Package fabric is the contract of the machine room: what a node is (Machine),
// what it hands out (Out), and what it says happened (Note).
//
// The room, and the one question that finds a line's place in it:
//
//	unit       a quantity: time, rate, size
//	splitmix   how flows spread: a hash
//	workload   which size the next flow has, and when it comes
//	frame      a byte offset
//	cc         a Greek letter from a paper
//	agenda     which of many instants comes first
//	credit     what a receiver grants
//	nic        a flow, a window, a retransmission
//	nic/command   what a host asks for, and how it is cut
//	nic/shaper    a token
//	switching  a queue, a threshold, a pause
//	topology   who is cabled to whom
//	rack       which machine is built for which node
//	node       in which order a node takes what arrives, and its digest
//	tap        which frames at which ports are looked at
//	tracing    what became of one message
//	measure    what a figure in a table means
//	lab        all machines driven in one process
//	explain    why there was a pause, or none
//
// Nothing in the room knows a clock, goroutine, lock, logger, network, map order
// or global randomness.
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

// Priorities is how many traffic classes a port has (IEEE 802.1Q).
const Priorities = 8

// Machine is a node without any I/O. Machines are total and deterministic: the
// same calls give the same Out, byte for byte. Instants never go back from one
// call to the next. At one instant changes come first, then arrivals in the
// order of ports, then the tick.
type Machine interface {
	// Arrive takes a frame that has come in whole at port. The frame belongs to
	// the caller again when Arrive returns.
	Arrive(now unit.Time, port Port, f *frame.Frame, out *Out)
	// Control takes a change at its instant.
	Control(now unit.Time, c *Change, out *Out)
	// Tick says that the instant that Next named has come.
	Tick(now unit.Time, out *Out)
	// Next names the instant at which the machine wants to be ticked, false if
	// it waits for nothing but arrivals.
	Next() (unit.Time, bool)
}

// Send is a frame put on the link behind a port. Its Arrival is stamped; a
// port's sends are in the order of their arrivals.
type Send struct {
	Port  Port
	Frame frame.Frame
}

// Out collects the effects of calls to a Machine. The caller empties it.
type Out struct {
	Sends []Send
	Notes []Note
	// Quiet leaves out the notes that come for every frame (Kind.PerFrame).
	Quiet bool
	// Follow says for which messages they are made all the same.
	Follow *Selection
}

// Reset empties the collection and keeps its memory.
func (o *Out) Reset() { o.Sends, o.Notes = o.Sends[:0], o.Notes[:0] }

// Send appends an empty send for port and gives its frame to be filled in.
func (o *Out) Send(port Port) *frame.Frame {
	if len(o.Sends) < cap(o.Sends) {
		o.Sends = o.Sends[:len(o.Sends)+1]
	} else {
		o.Sends = append(o.Sends, Send{})
	}
	s := &o.Sends[len(o.Sends)-1]
	s.Port = port
	return &s.Frame
}

// Note records n unless it is a note of every frame and Quiet is set.
func (o *Out) Note(n Note) {
	if n.Kind.PerFrame() && !o.Wants(n.Trace) {
		return
	}
	n.Trace = MessageOf(n.Trace)
	o.Notes = append(o.Notes, n)
}
