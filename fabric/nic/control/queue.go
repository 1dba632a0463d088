// Package control implements the queue of the control packets that a NIC sends: ACKs, NAKs,
// CNPs, credit, and RTT probes with their responses. It knows when and in which traffic class a packet goes; the queue pair
// that sends the packet builds it.
package control

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Kind is the kind of a control packet.
type Kind uint8

// Kinds of control packets.
const (
	ACK Kind = iota
	NAK
	CNP
	UETAck
	UETNack
	Credit
	CreditRequest // sent by a sender
	Probe         // sent by a sender, in the class of its data
	Response      // answers a probe
)

// acknowledges reports whether the packet is an ACK or NAK.
func (k Kind) acknowledges() bool { return k == ACK || k == NAK || k == UETAck || k == UETNack }

// Packet is a control packet waiting for transmission.
type Packet struct {
	From     Source
	Trace    uint64
	In       unit.Time        // arrival of the packet that it answers, or its creation
	Stamps   frame.Timestamps // ACK, NAK, if Stamped; Response
	PSN      uint32           // ACK: acknowledged; NAK: expected; Probe, Response: number of the probe
	MSN      uint32
	Credit   uint32 // Credit, CreditRequest: cumulative, in quanta
	Kind     Kind
	DSCP     uint8
	Port     uint16        // UDP source port of the packet that it answers; 0: that of the flow
	SACK     frame.SACK    // ACK, NAK; none if its bitmap is 0
	Stamped  bool          // ACK, NAK, Response: answers a packet with timestamps
	Syndrome uint8         // NAK: syndrome; 0 means sequence error
	Report   notify.Report // CNP; ACK and NAK, if these carry reports
	Echo     *notify.Echo  // ACK, NAK: answers a packet that collected the load of its path
	// Receipt reports on the packet that an ACK or NAK answers, if its sender sprays; else nil.
	// The service time is added at the transmission.
	Receipt *frame.Receipt
}

// Source is what sends a control packet.
type Source interface {
	// BuildControl writes the packet into f, whose transmission starts now.
	BuildControl(now unit.Time, c *Packet, f *frame.Frame)
	// FlowID returns the flow of the packet.
	FlowID() fabric.FlowID
}

// Answer returns a packet of the kind with the fields that an answer to f copies: trace,
// arrival, DSCP and UDP source port.
func Answer(kind Kind, from Source, f *frame.Frame) Packet {
	return Packet{Kind: kind, From: from, Trace: f.Trace, In: f.Arrival, DSCP: f.DSCP(), Port: f.SrcPort()}
}

// Config describes a Queue.
type Config struct {
	Limit int                  // capacity in packets
	Rate  int64                // in packets per second; 0 means no limit
	DSCP  *[64]fabric.Priority // traffic class by code point
	Code  uint8                // code point of control packets
	// WithData gives ACK and NAK the code point of the data that they answer.
	WithData bool
}

// Stats counts control packets.
type Stats struct {
	ControlQueueDrops uint64
	TxACKs, TxNAKs    uint64 // on the wire, including those of UET
	TxProbes          uint64
	TxProbeResponses  uint64
}

// Queue holds the control packets of all queue pairs. Under heavy traffic, ACKs and
// CNPs delay one another (CETH-9). Each traffic class has its own lane, so that a paused
// class does not block the others. Lanes are in the order in which classes were first
// used.
//
// Invariant: count is the sum over the lanes, and at most the limit.
type Queue struct {
	Config
	Stats
	lanes []lane
	count int
	gap   unit.Time // minimum time between two starts of transmission
	ready unit.Time // earliest start of the next transmission
}

// lane holds the control packets of one traffic class.
type lane struct {
	ring.Ring[Packet]
	class fabric.Priority
}

// NewQueue returns an empty queue.
func NewQueue(c Config) Queue {
	q := Queue{Config: c}
	q.lane(q.class())
	q.SetRate(c.Rate)
	return q
}

// class returns the traffic class of control packets.
func (q *Queue) class() fabric.Priority { return q.DSCP[q.Code] }

// lane returns the lane of a class and creates it on first use.
func (q *Queue) lane(class fabric.Priority) *lane {
	for i := range q.lanes {
		if q.lanes[i].class == class {
			return &q.lanes[i]
		}
	}
	q.lanes = append(q.lanes, lane{class: class})
	return &q.lanes[len(q.lanes)-1]
}

// open returns the first non-empty lane whose class is not paused, or nil.
func (q *Queue) open(paused uint8) *lane {
	for i := range q.lanes {
		if l := &q.lanes[i]; l.Len() > 0 && paused>>l.class&1 == 0 {
			return l
		}
	}
	return nil
}

// SetRate limits the queue to a rate in packets per second; 0 means no limit.
func (q *Queue) SetRate(perSecond int64) {
	q.gap = 0
	if perSecond > 0 {
		q.gap = (unit.Second + unit.Time(perSecond) - 1) / unit.Time(perSecond)
	}
}

// Len returns the number of packets in the queue.
func (q *Queue) Len() int { return q.count }

// ClassOf returns the traffic class of a packet.
func (q *Queue) ClassOf(c *Packet) fabric.Priority {
	if c.Kind == Probe || q.WithData && c.Kind.acknowledges() {
		return q.DSCP[c.DSCP&63]
	}
	return q.class()
}

// Put queues a packet. It returns false if the queue is full; the packet is then counted and
// noted as dropped.
func (q *Queue) Put(now unit.Time, c *Packet, out *fabric.Out) bool {
	class := q.ClassOf(c)
	if class == q.class() {
		c.DSCP = q.Code
	}
	if q.count < q.Limit {
		q.count++
		*q.lane(class).Next() = *c
		return true
	}
	var lost frame.Frame
	dropped := *c // c itself stays on the stack
	c.From.BuildControl(now, &dropped, &lost)
	q.ControlQueueDrops++
	out.Lost(fabric.Note{
		Event: fabric.NewDropped(lost.Len(), fabric.DropControlQueue), At: now,
		Flow: c.From.FlowID(), Priority: class, Trace: c.Trace,
	}, &lost)
	return false
}

// Due returns the earliest start of a packet; Never if none waits or their classes are
// paused.
func (q *Queue) Due(paused uint8) unit.Time {
	if q.count == 0 || q.open(paused) == nil {
		return unit.Never
	}
	return q.ready
}

// Send writes the oldest packet of the first lane that is not paused into f. It returns the
// arrival of the packet that it answers.
func (q *Queue) Send(now unit.Time, paused uint8, f *frame.Frame) (in unit.Time) {
	l := q.open(paused)
	c := l.Front()
	l.Drop(1) // it remains readable
	q.count--
	q.ready = now + q.gap
	c.From.BuildControl(now, c, f)
	switch c.Kind {
	case ACK, UETAck:
		q.TxACKs++
	case NAK, UETNack:
		q.TxNAKs++
	case Probe:
		q.TxProbes++
	case Response:
		q.TxProbeResponses++
	case CNP, Credit, CreditRequest:
	}
	return c.In
}
