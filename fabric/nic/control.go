package nic

import (
	"cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// controlKind is the kind of a control packet.
type controlKind uint8

const (
	controlACK controlKind = iota
	controlNAK
	controlCNP
	controlUETAck
	controlUETNack
	controlCredit
	controlCreditRequest // sent by a sender
)

// controlPacket is a control packet waiting for transmission.
type controlPacket struct {
	trace    uint64
	in       unit.Time        // arrival of the packet that it answers, or its creation
	stamps   frame.Timestamps // ACK, NAK, if stamped
	flow     int32            // index of the receiver; of the sender in a controlCreditRequest
	psn      uint32           // ACK: acknowledged; NAK: expected
	msn      uint32
	credit   uint32 // controlCredit, controlCreditRequest: cumulative, in quanta
	kind     controlKind
	dscp     uint8
	stamped  bool          // ACK, NAK: answers a packet with timestamps
	syndrome uint8         // NAK: syndrome; 0 means sequence error
	report   notify.Report // CNP; ACK and NAK, if these carry reports
}

// acknowledges reports whether the packet is an ACK or NAK.
func (k controlKind) acknowledges() bool {
	return k == controlACK || k == controlNAK || k == controlUETAck || k == controlUETNack
}

// controlQueue holds the control packets of all flows. Under heavy traffic, ACKs and
// CNPs delay one another (CETH-9). Each traffic class has its own lane, so that a paused
// class does not block the others. Lanes are in the order in which classes were first
// used.
//
// Invariant: count is the sum over the lanes, and at most limit.
type controlQueue struct {
	lanes        []controlLane
	limit, count int
	gap          unit.Time // minimum time between two starts of transmission
	ready        unit.Time // earliest start of the next transmission
}

// controlLane holds the control packets of one traffic class.
type controlLane struct {
	ring.Ring[controlPacket]
	class fabric.Priority
}

// newControlQueue returns a queue with one lane, for the given class.
func newControlQueue(limit int, perSecond int64, class fabric.Priority) controlQueue {
	q := controlQueue{limit: limit}
	q.lane(class)
	q.setRate(perSecond)
	return q
}

// lane returns the lane of a class and creates it on first use.
func (q *controlQueue) lane(class fabric.Priority) *controlLane {
	for i := range q.lanes {
		if q.lanes[i].class == class {
			return &q.lanes[i]
		}
	}
	q.lanes = append(q.lanes, controlLane{class: class})
	return &q.lanes[len(q.lanes)-1]
}

// open returns the first non-empty lane whose class is not paused, or nil.
func (q *controlQueue) open(p *rx.Pauses) *controlLane {
	for i := range q.lanes {
		if l := &q.lanes[i]; l.Len() > 0 && !p.Has(l.class) {
			return l
		}
	}
	return nil
}

// setRate limits the queue to a rate in packets per second; 0 means no limit.
func (q *controlQueue) setRate(perSecond int64) {
	q.gap = 0
	if perSecond > 0 {
		q.gap = (unit.Second + unit.Time(perSecond) - 1) / unit.Time(perSecond)
	}
}

// answer returns a control packet with the fields that an ACK or NAK copies from the
// data packet f: trace, arrival, DSCP and timestamps. T_r is taken here, so that waiting
// in the control queue does not change it.
func (n *NIC) answer(now unit.Time, kind controlKind, i int, f *frame.Frame) controlPacket {
	c := controlPacket{kind: kind, flow: int32(i), trace: f.Trace, in: f.Arrival, dscp: f.DSCP(), stamped: f.Timestamped()}
	if c.stamped {
		c.stamps = frame.Timestamps{Sent: f.Timestamps().Sent, Received: n.stamp(now)}
	}
	return c
}

// reply queues a control packet. It returns false if the queue is full; the packet is
// then counted and noted as dropped.
func (n *NIC) reply(now unit.Time, c *controlPacket, out *fabric.Out) bool {
	class := n.controlClass
	if c.kind.acknowledges() {
		class = n.ackClass(c)
	}
	if class == n.controlClass {
		c.dscp = n.cfg.ControlDSCP
	}
	if n.control.count < n.control.limit {
		n.control.count++
		*n.control.lane(class).Next() = *c
		return true
	}
	var lost frame.Frame
	n.buildControl(c, &lost)
	n.stats.ControlQueueDrops++
	out.Lost(fabric.Note{
		Event: fabric.NewDropped(lost.Len(), fabric.DropControlQueue), At: now,
		Flow: n.flowOf(c), Priority: class, Trace: c.trace,
	}, &lost)
	return false
}

// ackClass returns the traffic class of an ACK or NAK.
func (n *NIC) ackClass(c *controlPacket) fabric.Priority {
	if n.cfg.AckWithData {
		return n.cfg.DSCP[c.dscp&63]
	}
	return n.controlClass
}

// flowOf returns the flow of a control packet.
func (n *NIC) flowOf(c *controlPacket) fabric.FlowID {
	if c.kind == controlCreditRequest {
		return n.senders[c.flow].ID
	}
	return n.receivers[c.flow].ID
}

// sendControl transmits the oldest packet of the first lane that is not paused.
func (n *NIC) sendControl(now unit.Time, f *frame.Frame, out *fabric.Out) {
	lane := n.control.open(&n.pauses)
	c := lane.Front()
	lane.Drop(1) // it remains readable
	n.control.count--
	n.control.ready = now + n.control.gap
	n.buildControl(c, f)
	switch c.kind {
	case controlACK, controlUETAck:
		n.stats.TxACKs++
	case controlNAK, controlUETNack:
		n.stats.TxNAKs++
	case controlCNP, controlCredit, controlCreditRequest:
	}
	length := f.Len()
	f.Arrival = n.occupy(now, length)
	n.departed(now, c.in, length, f, out)
}

// buildControl writes the packet into f. An ACK is Not-ECT.
func (n *NIC) buildControl(c *controlPacket, f *frame.Frame) {
	if c.kind >= controlUETAck {
		n.buildUETControl(c, f)
		return
	}
	r := &n.receivers[c.flow]
	p := n.packetBack(r)
	p.DSCP, p.BTH.PSN = c.dscp, c.psn
	p.Timestamped, p.Timestamps = c.stamped, c.stamps
	if c.kind == controlCNP {
		p.BTH.Opcode = frame.OpcodeCNP
		r.point.Fill(c.report, p)
	} else {
		p.ECN, p.BTH.Opcode = frame.NotECT, frame.Acknowledge
		p.AETH = frame.AETH{Syndrome: frame.SyndromeACK, MSN: c.msn}
		if c.kind == controlNAK {
			p.AETH.Syndrome = cmp.Or(c.syndrome, frame.SyndromeNAKSequence)
		}
		if r.carried != nil {
			r.carried.Fill(c.report, p)
		}
	}
	p.Build(f)
	f.Trace = c.trace
}
