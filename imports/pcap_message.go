package imports

import (
	"cmp"
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pcapStep is the place of a request packet in its message.
type pcapStep struct {
	verb        work.Verb
	first, last bool
}

// pcapSteps are the opcodes of requests.
var pcapSteps = map[frame.Opcode]pcapStep{
	frame.SendFirst:     {work.Send, true, false},
	frame.SendMiddle:    {work.Send, false, false},
	frame.SendLast:      {work.Send, false, true},
	frame.SendLastImm:   {work.Send, false, true},
	frame.SendOnly:      {work.Send, true, true},
	frame.SendOnlyImm:   {work.Send, true, true},
	frame.WriteFirst:    {work.Put, true, false},
	frame.WriteMiddle:   {work.Put, false, false},
	frame.WriteLast:     {work.Put, false, true},
	frame.WriteLastImm:  {work.Put, false, true},
	frame.WriteOnly:     {work.Put, true, true},
	frame.WriteOnlyImm:  {work.Put, true, true},
	frame.ReadRequest:   {work.Get, true, true},
	frame.CompareSwap:   {work.CompareSwap, true, true},
	frame.FetchAdd:      {work.FetchAdd, true, true},
	frame.UDSendOnly:    {work.Send, true, true},
	frame.UDSendOnlyImm: {work.Send, true, true},
}

// pcapPacket is a packet of a request. Packet numbers do not wrap here.
type pcapPacket struct {
	at     unit.Time
	psn    int64
	op     frame.Opcode
	length int64 // of a WRITE or READ as its RETH says, or else of the payload without pad, in bytes
}

// pcapPair is what a capture has of a queue pair.
type pcapPair struct {
	pcapKey
	packets []pcapPacket
	next    int64 // after the packet number of the last packet
	gaps    pcapGaps
}

// pcapGaps counts what differs from a complete capture.
type pcapGaps struct {
	repeated int // packets seen before
	headless int // messages without their first packet, left out
	endless  int // SENDs without their last packet
	missing  int // packets of SENDs
	empty    int // messages of 0 bytes
}

// pcapMessage is a message and the time of its first packet.
type pcapMessage struct {
	verb work.Verb
	at   unit.Time
	size int64 // in bytes
}

// request adds a request packet to its queue pair.
func (p *pcap) request(f *frame.Frame, k pcapKey, at unit.Time) {
	op := f.Opcode()
	length := int64(f.Payload) - int64(f.Pad())
	switch {
	case op.HasRETH():
		length = int64(f.DMALength())
	case op.HasAtomic():
		length = int64(work.AtomicSize)
	case op.HasDETH():
		k.datagram, k.source = true, f.DETH().SourceQP
	}
	q := p.pair(k)
	psn := q.next + int64(frame.PSNDiff(f.PSN(), frame.NextPSN(0, uint32(q.next))))
	q.next = psn + 1
	q.packets = append(q.packets, pcapPacket{at, psn, op, length})
}

// ordered sorts the packets by their numbers, and keeps the earliest of each.
func (q *pcapPair) ordered() {
	slices.SortStableFunc(q.packets, func(a, b pcapPacket) int {
		return cmp.Or(cmp.Compare(a.psn, b.psn), cmp.Compare(a.at, b.at))
	})
	n := len(q.packets)
	q.packets = slices.CompactFunc(q.packets, func(a, b pcapPacket) bool { return a.psn == b.psn })
	q.gaps.repeated = n - len(q.packets)
}

// messages returns the messages of the queue pair by time. mtu is the payload of full packets, 0 if unknown:
// a READ takes a packet number per response.
func (q *pcapPair) messages(mtu int64) []pcapMessage {
	q.ordered()
	w := pcapWalk{pair: q, mtu: mtu, answered: math.MinInt64}
	for i := range q.packets {
		w.packet(&q.packets[i])
	}
	w.end()
	slices.SortStableFunc(w.list, func(a, b pcapMessage) int { return cmp.Compare(a.at, b.at) })
	return w.list
}

// pcapWalk goes through the packets of a queue pair in the order of their numbers.
type pcapWalk struct {
	pair     *pcapPair
	mtu      int64
	list     []pcapMessage
	open     bool  // the last message of list lacks its end
	full     int64 // payload of its first packet
	headless bool  // the last packet belongs to a message without its first
	psn      int64 // of the last packet
	answered int64 // first packet number after the responses to the last READ
}

func (w *pcapWalk) packet(p *pcapPacket) {
	step := pcapSteps[p.op]
	switch {
	case p.psn < w.answered:
		w.pair.gaps.repeated++ // a READ of responses that were lost
		return
	case step.first:
		w.end()
		w.begin(p, step)
	case w.open && w.list[len(w.list)-1].verb == step.verb && w.fits(p):
		w.proceed(p)
	default:
		w.end()
		if !w.headless {
			w.pair.gaps.headless++
		}
		w.headless = true
	}
	if step.last {
		w.open, w.headless = false, false
	}
	w.psn = p.psn
}

// begin begins a message.
func (w *pcapWalk) begin(p *pcapPacket, step pcapStep) {
	size := p.length
	if size == 0 {
		w.pair.gaps.empty++
		size = 1
	}
	w.list = append(w.list, pcapMessage{step.verb, p.at, size})
	w.open, w.full, w.headless = true, p.length, false
	if step.verb == work.Get && w.mtu > 0 {
		w.answered = p.psn + (size+w.mtu-1)/w.mtu
	}
}

// fits reports whether a packet can be one of the open message, which has at most 2 GiB.
func (w *pcapWalk) fits(p *pcapPacket) bool {
	m := &w.list[len(w.list)-1]
	return m.verb != work.Send || m.size+(p.psn-w.psn-1)*w.full+p.length <= int64(work.MaxMessage)
}

// proceed adds a packet to the open message. A SEND has the size of its packets, of which those that are not
// in the capture are full.
func (w *pcapWalk) proceed(p *pcapPacket) {
	m := &w.list[len(w.list)-1]
	m.at = min(m.at, p.at)
	if m.verb == work.Send {
		missing := p.psn - w.psn - 1
		m.size += missing*w.full + p.length
		w.pair.gaps.missing += int(missing)
	}
}

// end ends the open message, if there is one.
func (w *pcapWalk) end() {
	if w.open && w.list[len(w.list)-1].verb == work.Send {
		w.pair.gaps.endless++
	}
	w.open = false
}
