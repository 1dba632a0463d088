package qp

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Messages is what happened to the messages and flows of a program since its NIC asked last: one of the
// host is complete, or one from another host has arrived whole, messages in the order of their flow.
type Messages []Message

// Message is one event of a message or of a flow.
type Message struct {
	Kind MessageKind
	Step uint32        // of Sent: the step that posted the message, or began the flow
	Tag  uint32        // of Received
	From int           // of Received: the host that sent the message
	Flow fabric.FlowID // of Arrived
}

// MessageKind is what happened to a message or a flow.
type MessageKind uint8

// Kinds of events.
const (
	Sent     MessageKind = iota // a message or a flow of this host is complete
	Received                    // a message from another host has arrived whole
	Arrived                     // a flow from another host has arrived whole
)

// sent records that a message or a flow of this host is complete.
func (m *Messages) sent(step uint32) { *m = append(*m, Message{Kind: Sent, Step: step}) }

// arrived records that a flow has arrived whole.
func (m *Messages) arrived(flow fabric.FlowID) { *m = append(*m, Message{Kind: Arrived, Flow: flow}) }

// tags finds the tags of messages in their packets, in the order of the packets. RoCEv2 has the tag in
// the last packet of a message, as immediate data, UET in the first, as header data.
type tags struct {
	early   []tagged // of packets that are placed and not yet in order, ascending
	current uint32   // of the message whose first packet is in order
}

// tagged is a packet that begins or ends a message.
type tagged struct {
	packet      int64
	tag         uint32
	first, last bool
}

// expectTags prepares the receiver with the given index for messages with tags.
func (d *Device) expectTags(receiver int) {
	for len(d.tags) <= receiver {
		d.tags = append(d.tags, nil)
	}
	d.tags[receiver] = &tags{}
}

// keepTag keeps the tag of the packet with the given number.
func (r *Responder) keepTag(number int64, f *frame.Frame) {
	k := tagged{packet: number}
	if r.overUET {
		k.tag, k.first = f.UETTag()
		_, _, k.last = f.UETSpan()
	} else {
		k.tag, k.first = f.Immediate()
		k.last = k.first
	}
	if !k.first && !k.last {
		return
	}
	t := r.tags[r.index]
	i, _ := slices.BinarySearchFunc(t.early, number, func(k tagged, n int64) int { return int(k.packet - n) })
	t.early = slices.Insert(t.early, i, k)
}

// next returns the number of the expected packet. A responder that accepts packets in order only counts
// none: it keeps one at a time.
func (r *Responder) next() int64 {
	if r.early == nil {
		return 0
	}
	return r.early.placed.first
}

// received records the messages whose last packet is in order.
func (r *Responder) received() {
	t := r.tags[r.index]
	n := 0
	for ; n < len(t.early) && (r.early == nil || t.early[n].packet < r.early.placed.first); n++ {
		k := &t.early[n]
		if k.first {
			t.current = k.tag
		}
		if k.last {
			r.Messages = append(r.Messages, Message{Kind: Received, Tag: t.current, From: r.From})
		}
	}
	t.early = slices.Delete(t.early, 0, n)
}

// Post posts a message on a flow whose messages a program posts. step identifies it to the program,
// tag to the peer's host; size is at least 1 byte.
func (r *Flow) Post(now unit.Time, step uint32, size unit.Bytes, tag uint32, out *fabric.Out) {
	if r.done {
		return
	}
	s := r.stream
	c := work.Command{ID: step, Size: size, Address: uint64(s.bytes), Tag: tag, Tagged: true}
	s.bytes += size
	s.packets += work.Packets(size, r.Payload)
	r.post(now, c, out)
	r.credit.Begin(now)
	r.Offer()
}
